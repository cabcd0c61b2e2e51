"""The clearance of turns that tests run without the engine."""

from opencrab.domain.conversation.session import Session
from opencrab.domain.memory.clearance import Clearance, Listeners, memory_clearance_of_turn
from opencrab.domain.turn.turn import Turn


def with_nobody_else(session: Session, turn: Turn) -> Clearance:
    """The clearance of a turn whose answer only its asker hears."""
    return memory_clearance_of_turn(turn.authority, turn.principal_id, session, Listeners())
