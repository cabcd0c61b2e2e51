"""Outcome of a discussion: its decisions, its open points, and who does what by when."""

import unicodedata
from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.session import OBSERVER, Ending, Session
from opencrab.domain.goals.goal import Line
from opencrab.domain.identifier import turn_id
from opencrab.domain.text.plain import text_on_one_line
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Identifier, Name, ShortText, Value

DISCUSSION_OUTCOME = "discussion_outcome"
"""The kind of documents that store outcomes, among the installation's; the id is the session's."""

POINTS, TASKS = 20, 10
"""The most decisions, open points, and tasks of one outcome."""

OUTCOME_REQUEST = "outcome"
"""The source id of the message that asks for the outcome, once in a session."""

_OPENCRAB = "opencrab"

Points = Annotated[tuple[Line, ...], Field(max_length=POINTS)]


class OutcomeState(StrEnum):
    """State of an outcome: a turn was asked for it, it was written, or it will not be."""

    ASKED = "asked"
    WRITTEN = "written"
    UNKNOWN = "unknown"


class TaskAnswer(StrEnum):
    """Answer of an agent to a task that an outcome gives it."""

    OPEN = "open"
    TAKEN_OVER = "taken_over"
    DECLINED = "declined"
    UNANSWERED = "unanswered"
    NOT_ASKED = "not_asked"


class OutcomeTask(Value):
    """What one agent shall do by when; `name` is the agent's.

    `done_when` may contain conditions that code checks. `promise_id` is the promise of an agent
    that took it over; `reason` says why it did not.
    """

    number: int
    agent_id: Identifier
    name: Name
    what: Line
    done_when: Annotated[str, Field(max_length=300)] = ""
    due: datetime
    answer: TaskAnswer = TaskAnswer.OPEN
    reason: ShortText = ""
    promise_id: str = ""


class DiscussionOutcome(Value):
    """How a discussion ended, and what came out of it.

    `agent_ids` are its participants. `why` says why there is no outcome. `remembered` says that it
    is a memory of each participant, `asked` that the agents with tasks were asked.
    """

    session_id: Identifier
    ended_by: Ending
    agent_ids: tuple[Identifier, ...] = ()
    state: OutcomeState = OutcomeState.ASKED
    why: str = ""
    writer_id: str = ""
    decisions: Points = ()
    open_points: Points = ()
    tasks: Annotated[tuple[OutcomeTask, ...], Field(max_length=TASKS)] = ()
    turn_id: str = ""
    remembered: bool = False
    asked: bool = False
    at: datetime

    def tasks_of(self, agent_id: str) -> tuple[OutcomeTask, ...]:
        """Return the tasks of one agent that it has not answered yet."""
        return tuple(
            task
            for task in self.tasks
            if task.agent_id == agent_id and task.answer is TaskAnswer.OPEN
        )

    def with_task(self, changed: OutcomeTask) -> "DiscussionOutcome":
        """Return the outcome with one of its tasks replaced."""
        tasks = tuple(changed if task.number == changed.number else task for task in self.tasks)
        return self.replaced(tasks=tasks)

    def without_answer(self, agent_ids: Collection[str]) -> "DiscussionOutcome":
        """Return the outcome with the open tasks of these agents as unanswered."""
        return self.replaced(
            tasks=tuple(
                task.replaced(answer=TaskAnswer.UNANSWERED)
                if task.agent_id in agent_ids and task.answer is TaskAnswer.OPEN
                else task
                for task in self.tasks
            )
        )


def discussion_partners(session: Session) -> tuple[str, ...]:
    """Return the agents that took part in a discussion and were not just observers."""
    return tuple(
        part.agent_id for part in session.participants if part.turns and part.role != OBSERVER
    )


def discussion_outcome_writers(session: Session) -> tuple[str, ...]:
    """Return who may write the outcome, the first choice first.

    The facilitator, or without one the last speaker; then the others in the order of their seats.
    """
    able = discussion_partners(session)
    first = (session.facilitator_id, session.speaker_id)
    return tuple(dict.fromkeys(each for each in (*first, *able) if each in able))


def same_discussion_participant_name(one: str, other: str) -> bool:
    """Check whether two names are the same to a reader: width, case and hidden characters aside."""
    return _name_key(one) == _name_key(other)


def _name_key(name: str) -> str:
    return unicodedata.normalize("NFKC", text_on_one_line(name)).casefold()


def is_discussion_outcome_turn(turn: Turn) -> bool:
    """Check whether a turn was asked to write the outcome of its session."""
    return _answers(turn, OUTCOME_REQUEST)


def is_discussion_task_answer_turn(turn: Turn) -> bool:
    """Check whether a turn was asked if its agent takes over tasks of its session's outcome."""
    return _answers(turn, discussion_task_request_id(turn.agent_id))


def discussion_task_request_id(agent_id: str) -> str:
    """Return the source id of the message that asks an agent whether it takes its tasks over."""
    return f"tasks#{agent_id}"


def _answers(turn: Turn, source_id: str) -> bool:
    """Check whether a turn answers a message of OpenCrab's own, by what its id is made of."""
    if turn.source is not Source.PEER:
        return False
    return turn.id == turn_id(
        source=turn.source,
        principal=_OPENCRAB,
        source_id=f"{turn.session_id}/{source_id}",
        agent_id=turn.agent_id,
    )
