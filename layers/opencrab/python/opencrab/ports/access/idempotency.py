"""Answers already given, so that a repeated request is answered and not repeated."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class RememberedRequest:
    """The request that used a key before, and its answer (None: not finished)."""

    request_hash: str
    status: int | None
    body: str | None


class Idempotency(Protocol):
    """Idempotency keys per principal; they expire after a day."""

    def begin(self, key: str, request_hash: str, now: datetime) -> RememberedRequest | None:
        """Store a request; returns the earlier one with this key, or None if there is none."""

    def finish(self, key: str, status: int, body: str) -> None:
        """Store the answer."""
