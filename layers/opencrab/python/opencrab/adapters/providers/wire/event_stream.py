"""AWS's binary event stream, as Amazon Bedrock streams its answers, cut anywhere.

A message is its length, the length of its headers, a checksum of both, headers, payload and a
checksum of all before it; numbers are big-endian. Botocore reads the same, but is not always there.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from zlib import crc32

from opencrab.adapters.providers.wire.wire import StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed

MESSAGE_BYTES = 24 * 1024 * 1024
"""Longest message that AWS sends."""

_PRELUDE = struct.Struct("!III")
_CHECKSUM = struct.Struct("!I")
_LEAST = _PRELUDE.size + _CHECKSUM.size
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The lengths of header values by type; the others begin with their length."""

_SIZED = frozenset({6, 7})
_TEXT = 7


def event_stream_frames(chunks: Iterable[bytes]) -> Iterator[StreamFrame]:
    """Yield one frame for each whole message, named by its event or exception type.

    A last message that was cut is dropped. Raises ModelCallFailed (NONSENSE) for one whose
    checksum is wrong.
    """
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while (message := _first_message(buffer)) is not None:
            del buffer[: len(message)]
            yield _frame(message)


def _first_message(buffer: bytearray) -> bytes | None:
    if len(buffer) < _PRELUDE.size:
        return None
    total, headers, checksum = _PRELUDE.unpack_from(buffer)
    sound = crc32(buffer[: _PRELUDE.size - _CHECKSUM.size]) == checksum
    if not sound or not _LEAST + headers <= total <= MESSAGE_BYTES:
        raise _broken("its beginning does not match its checksum")
    return bytes(buffer[:total]) if len(buffer) >= total else None


def _frame(message: bytes) -> StreamFrame:
    content, (checksum,) = message[: -_CHECKSUM.size], _CHECKSUM.unpack(message[-_CHECKSUM.size :])
    if crc32(content) != checksum:
        raise _broken("it does not match its checksum")
    length = _PRELUDE.unpack_from(message)[1]
    try:
        headers = dict(_headers(message[_PRELUDE.size : _PRELUDE.size + length]))
    except (LookupError, struct.error):
        raise _broken("its headers are malformed") from None
    payload = content[_PRELUDE.size + length :].decode("utf-8", "replace")
    if headers.get(":message-type") == "error":
        said = {"message": headers.get(":error-message", "")}
        return StreamFrame(json.dumps(said), headers.get(":error-code", "") or "error")
    name = headers.get(":event-type") or headers.get(":exception-type", "")
    return StreamFrame(payload or "{}", name)


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the headers that are text; raise LookupError or struct.error if malformed."""
    place = 0
    while place < len(data):
        name_length = data[place]
        name = data[place + 1 : place + 1 + name_length]
        place += 1 + name_length
        kind = data[place]
        place += 1
        if kind in _SIZED:
            (length,) = struct.unpack_from("!H", data, place)
            place += 2
        else:
            length = _FIXED[kind]
        if kind == _TEXT:
            value = data[place : place + length].decode("utf-8", "replace")
            yield name.decode("utf-8", "replace"), value
        place += length


def _broken(why: str) -> ModelCallFailed:
    return ModelCallFailed(f"a message of the stream cannot be read: {why}", Fault.NONSENSE)
