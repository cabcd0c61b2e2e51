"""Utterances: speech on its way to a channel that pushes, delivered once each."""

from datetime import datetime
from enum import StrEnum

from opencrab.domain.message import Channel
from opencrab.domain.value import Value

ATTEMPTS = 8


class DeliveryState(StrEnum):
    """How far an utterance has come; `sending` after a crash is what makes it indeterminate."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    INDETERMINATE = "indeterminate"

    @property
    def is_end(self) -> bool:
        """Whether nothing more will be tried."""
        return self not in {DeliveryState.QUEUED, DeliveryState.SENDING}


class Utterance(Value):
    """One speech for one target; `nonce` lets a channel recognise a repeat."""

    channel: Channel
    turn_id: str
    ordinal: int
    agent_id: str
    session_id: str
    text: str
    nonce: str
    state: DeliveryState = DeliveryState.QUEUED
    attempts: int = 0
    error: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def key(self) -> str:
        """Its name within its target: the turn and the ordinal of the speech in it."""
        return f"{self.turn_id}#{self.ordinal:04d}"
