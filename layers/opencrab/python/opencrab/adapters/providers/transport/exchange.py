"""One request, one reply: the seam between the wire formats and whatever carries them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

REPLY_BYTES = 8 * 1024 * 1024
"""Largest reply that is read; an answer of a language model is far smaller."""


STOP_CHECK_SECONDS = 0.05
"""How often a caller is asked whether to stop while nothing arrives."""


class ExchangeStopped(Exception):
    """The caller stopped an exchange, so its connection was closed."""


IsStopped = Callable[[], bool]
"""Says whether to stop an exchange."""


SignRequest = Callable[[str, str, bytes], Mapping[str, str]]
"""Returns the headers that sign a request, by its method, URL and body; raises Unavailable."""


def provider_exchange_never_stopped() -> bool:
    """Return False, for exchanges that nobody stops."""
    return False


@dataclass(frozen=True)
class Reply:
    """An HTTP response; header names are lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenReply:
    """A response whose body is still arriving; iterating raises like `Transport.send`."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


class Transport(Protocol):
    """An HTTP client that sends one request per call and does not follow redirects.

    A request is sent once; only if a reused connection was already closed, it is sent again on a
    new one.

    Every failure is a ModelCallFailed: UNREACHABLE if no connection was made, so that nothing was
    sent; TIMEOUT if time ran out before or during the response; BROKEN_OFF if the connection ended,
    or the response is larger than REPLY_BYTES.
    """

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        """Send a POST, or a GET if body is None; the timeout covers the whole exchange."""

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> AbstractContextManager[OpenReply]:
        """Send a POST and return the response as it arrives; the timeout covers all of it.

        `is_stopped` is called before each read, and every STOP_CHECK_SECONDS while nothing
        arrives. Raises ExchangeStopped, also while the body is read, once it returns True.
        """


def response_excerpt(body: bytes, length: int = 200) -> str:
    """Return the beginning of a body on one line, for an error message."""
    text = body[: 4 * length].decode("utf-8", "replace")
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    return line[:length] + ("…" if len(line) > length or len(body) > 4 * length else "")
