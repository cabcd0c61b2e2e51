"""Readers of a turn: the label of the clearance with which it read, stored beside the turn.

In a document of its own, so that the release before, which does not know it, still reads the turn.
"""

from datetime import datetime, timedelta

from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.memory.clearance import Listeners, turn_clearance
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.runtime import Runtime

TURN_READERS = "turn_readers"
"""The kind of these documents; the id is the turn's."""

_KEPT = timedelta(days=35)
"""As long as ended turns; one that waits longer counts as without a label."""


class TurnReaders(Value):
    """The label of what a turn has read so far; see `domain/memory/clearance`."""

    readers: str


def label_of_turn(runtime: Runtime, turn: Turn, session: Session, transcript: Transcript) -> str:
    """Return the label of what a turn has read: without a stored one, all that its asker may.

    Only turns with a narrower one store it, so nothing is read before the first model call.
    """
    if transcript.first_call is not None:
        stored = runtime.home.facts.get(turn.agent_id, TURN_READERS, turn.id)
        if stored is not None:
            return stored.read(TurnReaders).readers
    alone = Listeners(guild_id=session.guild_id or "")
    return turn_clearance(turn.authority, turn.principal_id, session, alone).label


def turn_label(turn: Turn, readers: str, now: datetime) -> Document:
    """Return the document that labels what a turn reads from now on."""
    label = TurnReaders(readers=readers)
    fact = new_fact(turn.agent_id, TURN_READERS, turn.id, label, expires_at=now + _KEPT)
    return fact.replaced(version=0)
