"""Utterances waiting to be pushed, and what became of them."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.message import DeliveryState, Utterance


class Outbox(Protocol):
    """Utterances; the journal puts them, delivery moves them on."""

    def get(self, target: str, key: str) -> Utterance:
        """Read one; raises NotFound."""

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        """Store a new state; False when the stored state is not the expected one."""

    def unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        """Utterances not at an end that were last touched before a time, oldest first."""
