"""Promises: who promised what to whom by when, and what came of it.

A promise has a goal of its own, carried out in a session that is named after the promise. Code
decides whether it was kept, by what the journal has of that goal or by a condition that it checks.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.goals.goal import Goal, GoalStatus, Line
from opencrab.domain.identifier import stable_id
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import GoalId, Identifier, Name, ShortText, Value

PROMISE = "promise"
"""The kind of documents that store promises; their owner is the agent that promised."""

PROMISE_BOARD = "promise_board"
"""Kind and id of the document with the promises that an agent made, and those made to it."""

BOARD = 20
"""The most promises of each kind on a board: open ones before settled ones, then the newest."""

_JUDGED_WITHIN = timedelta(hours=1)
_OPENCRAB = Sender(id="opencrab", name="OpenCrab")
_SESSION = "promise-"
_WHAT = 120


class PromiseStatus(StrEnum):
    """Status of a promise; a withdrawn one is neither kept nor broken."""

    OPEN = "open"
    KEPT = "kept"
    BROKEN = "broken"
    WITHDRAWN = "withdrawn"

    @property
    def outcome(self) -> Outcome:
        """What it means for the trust of those to whom it was made."""
        return _OUTCOMES.get(self, Outcome.UNKNOWN)


_OUTCOMES = {PromiseStatus.KEPT: Outcome.SUCCESS, PromiseStatus.BROKEN: Outcome.FAILURE}


class Promise(Value):
    """A promise of one agent to others, made in a session.

    `done_when` may contain conditions that code checks (`domain/goals/condition`); with `vacuous`
    they held already when the promise was made, so that they prove nothing. `evidence` says by what
    it was judged, `reason` why it was withdrawn. `told` are the agents that know how it ended;
    `announced` says that all know that it was made.
    """

    id: Identifier
    agent_id: Identifier
    name: Name
    to: tuple[Identifier, ...]
    what: Line
    done_when: Annotated[str, Field(max_length=300)] = ""
    due: datetime
    vacuous: bool = False
    goal_id: GoalId
    session_id: Identifier
    turn_id: str = ""
    status: PromiseStatus = PromiseStatus.OPEN
    evidence: Annotated[tuple[ShortText, ...], Field(max_length=5)] = ()
    reason: ShortText = ""
    announced: bool = False
    told: tuple[Identifier, ...] = ()
    made_at: datetime
    ended_at: datetime | None = None

    def is_open_at(self, now: datetime) -> bool:
        """Check whether it is neither due nor settled, so that it may be withdrawn."""
        return self.status is PromiseStatus.OPEN and now < self.due

    def withdrawn(self, reason: str, now: datetime) -> "Promise":
        """Return the promise as withdrawn."""
        return self.replaced(status=PromiseStatus.WITHDRAWN, reason=reason[:500], ended_at=now)


class BriefPromise(Value):
    """A promise shortened for prompts; `name` promised it to `names`."""

    id: Identifier
    name: Name
    names: tuple[Name, ...]
    what: str
    due: datetime
    goal_id: GoalId
    session_id: Identifier
    status: PromiseStatus
    at: datetime


class PromiseBoard(Value):
    """The promises that an agent made, and those that others made to it."""

    made: tuple[BriefPromise, ...] = ()
    received: tuple[BriefPromise, ...] = ()

    def with_promise(self, promise: BriefPromise, *, own: bool) -> "PromiseBoard":
        """Return the board with a promise as it is now."""
        if own:
            return self.replaced(made=_place_on_board(self.made, promise))
        return self.replaced(received=_place_on_board(self.received, promise))

    def unsettled(self, now: datetime) -> tuple[BriefPromise, ...]:
        """Return the promises that should have been judged an hour ago."""
        both = (*self.made, *self.received)
        late = (each for each in both if each.status is PromiseStatus.OPEN)
        return tuple(each for each in late if each.due + _JUDGED_WITHIN < now)

    def without(self, gone: Iterable[str]) -> "PromiseBoard":
        """Return the board without these promises."""
        ids = frozenset(gone)
        return self.replaced(
            made=tuple(each for each in self.made if each.id not in ids),
            received=tuple(each for each in self.received if each.id not in ids),
        )


def promised_goal_id(session_id: str, number: int) -> str:
    """Return the id of the promise to do a task of a discussion's outcome; also its session's."""
    return f"{_SESSION}{stable_id('promise', session_id, str(number))}"


def is_promised_goal_session(session_id: str) -> bool:
    """Check whether a session carries out a promise."""
    return session_id.startswith(_SESSION)


def is_goal_promised(goal: Goal) -> bool:
    """Check whether an agent took over a goal by a promise to others."""
    return is_promised_goal_session(goal.session_id)


def brief_goal_promise(promise: Promise, names: Iterable[str]) -> BriefPromise:
    """Return a promise shortened; `names` are those of the agents that it was made to."""
    what = promise.what if len(promise.what) <= _WHAT else f"{promise.what[: _WHAT - 1]}…"
    return BriefPromise(
        id=promise.id,
        name=promise.name,
        names=tuple(names),
        what=what,
        due=promise.due,
        goal_id=promise.goal_id,
        session_id=promise.session_id,
        status=promise.status,
        at=promise.ended_at or promise.made_at,
    )


def goal_promises_due_item(session_id: str, name: str, at: datetime) -> DueItem:
    """Return the due item that settles what an ended discussion has left to do, once per name.

    It is a floor of that discussion which asks nobody, so that the release before reads it.
    """
    return DueItem(
        id=f"floor-{session_id}-{name}",
        at=at,
        session_id=session_id,
        message=Message(
            source=Source.PEER,
            source_id=f"floor#{name}",
            principal_id=_OPENCRAB.id,
            sender=_OPENCRAB,
            authority=Authority.PEER,
            parts=(TextPart(text="floor"),),
        ),
        trigger=Trigger.EVENT,
        taint=True,
        floor=0,
    )


def is_goal_done_in_time(promise: Promise, goal: Goal | None) -> bool:
    """Check whether the promised goal was completed before the due time."""
    if goal is None or goal.status is not GoalStatus.COMPLETED or goal.ended_at is None:
        return False
    return goal.ended_at <= promise.due


def _place_on_board(
    promises: tuple[BriefPromise, ...], promise: BriefPromise
) -> tuple[BriefPromise, ...]:
    others = (each for each in promises if each.id != promise.id)
    ranked = sorted(
        (*others, promise),
        key=lambda each: (each.status is PromiseStatus.OPEN, each.at),
        reverse=True,
    )
    return tuple(ranked[:BOARD])
