"""Answers already given, so that a repeated request is answered and not repeated."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class RememberedRequest:
    """What a request with this key was, and what it was answered (None: not yet)."""

    request_hash: str
    status: int | None
    body: str | None


class Idempotency(Protocol):
    """Idempotency keys per principal; they expire after a day."""

    def begin(self, key: str, request_hash: str, now: datetime) -> RememberedRequest | None:
        """Remember a request; the earlier one with this key when there is one, else None."""

    def finish(self, key: str, status: int, body: str) -> None:
        """Remember the answer."""
