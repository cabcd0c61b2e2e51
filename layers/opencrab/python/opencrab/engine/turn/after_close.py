"""Aftermath: what the end of a turn means for the agent's heartbeat and for a discussion."""

from dataclasses import dataclass

from opencrab.domain.document import Fact
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import UNASKED, TurnStatus
from opencrab.engine.autonomy import heartbeat_end
from opencrab.engine.discussion import turn_taking
from opencrab.engine.turn.work import Work


@dataclass(frozen=True)
class Aftermath:
    """Facts and due items to be written with a turn's end."""

    facts: tuple[Fact, ...] = ()
    due: tuple[DueItem, ...] = ()


def writes_more(work: Work) -> bool:
    """Whether a turn's end writes more than its own: then results that were carried go first."""
    return work.turn.trigger in UNASKED or len(work.session.participants) > 1


def aftermath(work: Work, status: TurnStatus, speech: str, *, spoke: bool) -> Aftermath:
    """What follows from a turn's end, read anew with each try."""
    signs = heartbeat_end.ended(work, status, spoke=spoke)
    following = turn_taking.opened(work, status, speech)
    return Aftermath(
        facts=() if signs is None else (signs,), due=() if following is None else (following,)
    )


def settle(work: Work) -> None:
    """What is done once the end is written; the next beat finds what a crash leaves undone."""
    heartbeat_end.settle(work)
