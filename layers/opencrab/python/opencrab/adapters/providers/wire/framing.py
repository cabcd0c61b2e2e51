"""Framing of streams: bytes that may be cut anywhere become the frames that a server meant."""

import json
import re
from collections.abc import Iterable, Iterator

from opencrab.adapters.providers.wire.wire import Framing, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed

LINE_BYTES = 4 * 1024 * 1024
"""Longest line of a stream that is read."""

BARE = "bare"
"""The name of an event that was JSON without `data:` before it, as Google sends its errors."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BARE_START = ("{", "[", ",")
_WHOLE_START = ("{", "[")
"""A number may have been cut and still be one; neither of these can."""

_FIELDS = {"data", "event", "id", "retry"}


def wire_stream_frames(chunks: Iterable[bytes], framing: Framing) -> Iterator[StreamFrame]:
    """Split a stream into frames, in linear time.

    Raises ModelCallFailed (NONSENSE) for a line of more than LINE_BYTES.
    """
    if framing == "aws":
        from opencrab.adapters.providers.wire.event_stream import (  # noqa: PLC0415  - for one vendor
            event_stream_frames,
        )

        return event_stream_frames(chunks)
    lines = _lines(chunks)
    return _server_sent(lines) if framing == "sse" else _json_lines(lines)


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[str, bool]]:
    """Yield lines ended by CR, LF or CRLF, each with True; a last, unended one with False."""
    parts, size, after_cr = [b""], 0, False
    for chunk in chunks:
        first, *others = _LINE_END.split(chunk[1:] if after_cr and chunk[:1] == b"\n" else chunk)
        after_cr = chunk.endswith(b"\r") if chunk else after_cr
        parts.append(first)
        size += len(first)
        for part in others:
            yield _text(parts, size), True
            parts, size = [part], len(part)
        _check(size)
    if size:
        yield _text(parts, size), False


def _text(parts: list[bytes], size: int) -> str:
    _check(size)
    return b"".join(parts).decode("utf-8", "replace")


def _check(size: int) -> None:
    if size > LINE_BYTES:
        message = f"the stream has a line of more than {LINE_BYTES} bytes"
        raise ModelCallFailed(message, Fault.NONSENSE)


def _json_lines(lines: Iterator[tuple[str, bool]]) -> Iterator[StreamFrame]:
    """Yield one frame per line, except for blank lines and truncated JSON."""
    for line, ended in lines:
        text = line.removeprefix("\ufeff").strip()
        was_cut = not ended and text.startswith(_BARE_START) and not _is_json(text)
        if text and not was_cut:
            yield StreamFrame(text)


def _server_sent(lines: Iterator[tuple[str, bool]]) -> Iterator[StreamFrame]:
    """Yield server-sent events; drop events without data or without a final blank line.

    Unlike the standard, JSON outside any field is kept: servers send errors like that in the middle
    of a stream. A last event without a blank line is kept if it is complete JSON.
    """
    frame, bare = _Frame(), list[str]()
    for number, (raw, _) in enumerate(lines):
        line = raw.removeprefix("\ufeff") if number == 0 else raw
        if line.startswith(":"):
            continue
        if (bare or line.lstrip().startswith(_BARE_START)) and not _is_field(line):
            bare.append(line)
            continue
        if bare:
            yield from _bare(bare)
            bare = []
        if line:
            frame.take(line)
        elif event := frame.ended():
            yield event
    yield from _bare(bare)
    last = frame.ended()
    if last and last.data.lstrip().startswith(_WHOLE_START) and _is_json(last.data):
        yield last


class _Frame:
    """A server-sent event whose lines are arriving."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []

    def take(self, line: str) -> None:
        """Process one field; fields other than data and event are ignored."""
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif field == "event":
            self._name = value.removeprefix(" ")

    def ended(self) -> StreamFrame | None:
        """Return the event if it has data, and start the next one."""
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        return StreamFrame(data, name) if data.strip() else None


def _is_field(line: str) -> bool:
    return line.partition(":")[0] in _FIELDS


def _bare(lines: list[str]) -> Iterator[StreamFrame]:
    """Yield the JSON formed by these lines, without a leading comma, if it is complete."""
    text = "\n".join(lines).strip().lstrip(",").strip()
    if _is_json(text):
        yield StreamFrame(text, BARE)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
