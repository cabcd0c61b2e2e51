"""Utterances waiting to be pushed, and what became of them."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.message import DeliveryState, Utterance


class Outbox(Protocol):
    """A store of utterances; the journal adds them, delivery updates their state."""

    def get(self, target: str, key: str) -> Utterance:
        """Read an utterance; raises NotFound."""

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        """Store a new state; returns False if the stored state is not the expected one.

        Nor is it stored if a later piece is stored as sent now: whoever sends is alive.
        """

    def list_unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        """Return utterances not at an end, last changed before a time, oldest first."""
