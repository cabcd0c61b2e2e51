"""One request, one reply: the seam between the wire formats and whatever carries them."""

from collections.abc import Mapping
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


class Transport(Protocol):
    """Carries one request to a server, without retries and without following redirects."""

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        """POST the body, or GET when there is none; the timeout covers the whole exchange.

        Raises NeverSent when no connection came about, and Unavailable when something went wrong
        afterwards, a reply of more than REPLY_BYTES included.
        """


def excerpt(body: bytes, length: int = 200) -> str:
    """The beginning of a reply on one line, fit for an error message."""
    text = body[: 4 * length].decode("utf-8", "replace")
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    return line[:length] + ("…" if len(line) > length or len(body) > 4 * length else "")
