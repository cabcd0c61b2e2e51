"""Utterances: speech on its way to a channel that pushes, delivered once each."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.conversation.message import Channel
from opencrab.domain.value import Identifier, Value

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
    """One speech for one target; `nonce` lets a channel recognise a repeat.

    A channel may show it in pieces: `piece` is the one that is sent now or next. `opens` says that
    it answers those who wait for its turn, who see nothing of it yet; without `text` it tells them
    that nothing comes. `approval` names what it asks a human for. `closes` says that it is its
    turn's last. `since` is when its piece was sent first, if that may have shown it.
    """

    channel: Channel
    turn_id: str
    ordinal: int
    agent_id: str
    session_id: str
    text: str
    nonce: str
    opens: bool = False
    closes: bool = False
    approval: Identifier | None = None
    piece: Annotated[int, Field(ge=0)] = 0
    state: DeliveryState = DeliveryState.QUEUED
    attempts: int = 0
    since: datetime | None = None
    error: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def key(self) -> str:
        """Its name within its target: the turn and the ordinal of the speech in it."""
        return f"{self.turn_id}#{self.ordinal:04d}"
