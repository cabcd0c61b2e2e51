"""Instruction plan: an owner's standing instructions as goals, with their times and conditions.

A model writes it once for each wording. The owner's words stay what counts: the plan only says what
they ask for, when, and by what code sees that it is done.
"""

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.event import EventFilter
from opencrab.domain.autonomy.schedule import Schedule
from opencrab.domain.identifier import content_hash
from opencrab.domain.text.terms import content_terms_of_text
from opencrab.domain.value import Identifier, Language, Received, Value

INSTRUCTION_PLAN = "instruction_plan"
"""Kind and id of the document that stores an agent's instruction plan."""

MOST_GOALS = 8
TRIES = 3
"""The most steps that are begun for something that shall be done once."""

WAIT = timedelta(minutes=5)
"""The time that goals from instructions wait for their plan, before the agent begins without."""

NAME, WORDS, NOTE = 120, 1_000, 500

PLAN_EDGES = {
    Language.EN: ("[instructions begin]", "[instructions end]"),
    Language.JA: ("[ここから指示]", "[ここまで指示]"),
}
"""The lines around the instructions in the question to a model."""

_RETRY, _LONGEST = timedelta(hours=1), timedelta(days=1)
_DOUBLINGS = 5
_KEY = 16
_SCHEDULE = re.compile(rf"instr1?-([0-9a-f]{{{_KEY}}})-[0-9a-f]{{8}}")
_ONE_TIME = "instr1-"
_ALIKE = 0.5

PlanName = Annotated[str, StringConstraints(min_length=1, max_length=NAME)]


class PlanFlaw(StrEnum):
    """The reason why a goal of the plan has not the time that its instructions say."""

    OWNER_HAS_IT = "owner_has_it"
    BAD_TIME = "bad_time"
    TOO_OFTEN = "too_often"
    NO_ROOM = "no_room"
    NO_CONDITION = "no_condition"


class PlannedGoal(Value):
    """One thing that standing instructions ask for.

    `done_when` are the conditions that code checks. `times` is a rule for times: it becomes the
    schedule `schedule_id`, for one run only with `once`. `event` is the type of the events that it
    waits for. Without either it is due at once, again and again unless `once`. `begun` counts its
    steps while it shall be done once; `done` says that it needs no more.
    """

    name: PlanName
    words: Received = ""
    done_when: str = ""
    once: bool = False
    times: str = ""
    event: str = ""
    flaw: PlanFlaw | None = None
    schedule_id: Identifier | None = None
    begun: Annotated[int, Field(ge=0)] = 0
    done: bool = False

    @property
    def is_due_by_itself(self) -> bool:
        """True if steps are taken for it without a time or an event."""
        timed = self.times or self.event
        return not (timed or self.done or self.flaw is PlanFlaw.OWNER_HAS_IT)

    def waits_for(self, kind: str) -> bool:
        """Check whether it is due when an event of this type comes."""
        return bool(self.event) and EventFilter(type=self.event).fits(kind, "")


class InstructionPlan(Value):
    """The plan for one wording of an agent's instructions, `key`.

    `planned` says that a model has answered; else it was asked at `asked_at`, or its answers failed
    so many times. `note` is what it tells the owner. `place` is what the schedules were made for:
    time zone and channel. `begun_at` tells the plan from an earlier one for the same wording.
    """

    key: str
    asked_at: datetime
    begun_at: datetime | None = None
    planned: bool = False
    goals: Annotated[tuple[PlannedGoal, ...], Field(max_length=MOST_GOALS)] = ()
    note: Received = ""
    place: str = ""
    turn_id: str = ""
    failures: Annotated[int, Field(ge=0)] = 0
    failed_at: datetime | None = None
    why: Received = ""

    @property
    def due_goals(self) -> tuple[PlannedGoal, ...]:
        """The goals for which steps are taken without a time or an event."""
        return tuple(goal for goal in self.goals if goal.is_due_by_itself)

    def awaits_answer(self, now: datetime) -> bool:
        """Check whether the model was asked just now, so that its answer is worth waiting for."""
        return not (self.planned or self.failures) and self.asked_at <= now < self.asked_at + WAIT

    def asks_again(self, now: datetime) -> bool:
        """Check whether the model should be asked once more: after a failure with a backoff."""
        if self.planned:
            return False
        if self.failed_at is None or now < self.failed_at:
            return not self.asked_at <= now < self.asked_at + _RETRY
        doublings = min(2 * (self.failures - 1), _DOUBLINGS)
        pause: timedelta = min(_RETRY * (1 << doublings), _LONGEST)
        return now >= self.failed_at + pause

    def after_failure(self, why: str, now: datetime) -> "InstructionPlan":
        """Return the plan after a call that brought no usable answer."""
        return self.replaced(failures=self.failures + 1, failed_at=now, why=why[:NOTE])

    def with_goal(self, changed: PlannedGoal) -> "InstructionPlan":
        """Return the plan with the goal of this name replaced."""
        goals = tuple(changed if each.name == changed.name else each for each in self.goals)
        return self.replaced(goals=goals)


def autonomy_instruction_plan_key(agent: Agent) -> str:
    """Return the fingerprint of what a plan is made from: instructions, purpose and language."""
    parts = (agent.heartbeat.instructions.strip(), agent.purpose.strip(), agent.language.value)
    return content_hash("\0".join(parts).encode())[:_KEY]


def instruction_schedule_id(key: str, goal: PlannedGoal) -> str:
    """Return the id of the schedule that a goal of the plan with this key becomes."""
    told = content_hash(f"{goal.name}\0{goal.times}".encode())[:8]
    return f"{_ONE_TIME if goal.once else 'instr-'}{key}-{told}"


def is_instructed_schedule(schedule: Schedule) -> bool:
    """Check whether a schedule was made from instructions and not changed by its owner."""
    return schedule.version == 1 and _SCHEDULE.fullmatch(schedule.id) is not None


def is_one_time_schedule(schedule: Schedule) -> bool:
    """Check whether a schedule runs once."""
    return is_instructed_schedule(schedule) and schedule.id.startswith(_ONE_TIME)


def is_schedule_withdrawn(schedule: Schedule, agent: Agent) -> bool:
    """Check whether a schedule comes from instructions that its agent has no longer."""
    found = _SCHEDULE.fullmatch(schedule.id)
    if found is None or not is_instructed_schedule(schedule):
        return False
    return not agent.heartbeat.acts_on_its_own or found[1] != autonomy_instruction_plan_key(agent)


def is_schedule_alike(schedule: Schedule, goal: PlannedGoal, zone: str) -> bool:
    """Check whether an owner's schedule already does what a goal of the plan is for.

    It runs at the same times, and its text has half of the goal's words or the other way round.
    """
    if (schedule.when, schedule.zone) != (goal.times, zone) and not (
        schedule.when == goal.times and goal.times.startswith("@")
    ):
        return False
    theirs = content_terms_of_text(f"{schedule.name} {schedule.instructions}")
    mine = content_terms_of_text(f"{goal.name} {goal.words}")
    least = min(len(theirs), len(mine))
    return least == 0 or len(theirs & mine) >= _ALIKE * least
