"""One request, one reply: the seam between the wire formats and whatever carries them."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

REPLY_BYTES = 8 * 1024 * 1024
"""Largest reply that is read; an answer of a language model is far smaller."""


@dataclass(frozen=True)
class Reply:
    """What a server answered; header names are lower-case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenReply:
    """A reply whose body is still on its way; iterating raises like `Transport.send` does."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


class Transport(Protocol):
    """Carries one request to a server, without following redirects.

    It goes out once, but for a kept connection that had ended before and so heard nothing of it.

    Every failure is Unanswered: UNREACHABLE when no connection came about, so that nothing was
    sent; TIMEOUT when the time was over, be it before the first byte or in the middle; BROKEN_OFF
    when the connection ended, or the reply is larger than REPLY_BYTES.
    """

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        """POST the body, or GET when there is none; the timeout covers the whole exchange."""

    def open(
        self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_seconds: float
    ) -> AbstractContextManager[OpenReply]:
        """POST the body and hand over the reply as it comes; the timeout covers all of it."""


def response_excerpt(body: bytes, length: int = 200) -> str:
    """The beginning of a reply on one line, fit for an error message."""
    text = body[: 4 * length].decode("utf-8", "replace")
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    return line[:length] + ("…" if len(line) > length or len(body) > 4 * length else "")
