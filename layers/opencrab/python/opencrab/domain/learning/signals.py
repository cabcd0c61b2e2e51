"""Turn signals: what an ended turn shows about its models, skills and memories.

They are written with the turn's end and hold ids and numbers, nobody's words.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime

from pydantic import Field

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.memory.memory import LIVED
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.hash_bucket import hash_fraction
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.value import MicroUsd, Unit, Value

SIGNALS = "signals"
"""The kind of documents that store turn signals; the id is `signals_id`, in order of time."""

KEPT_DAYS = 40


class ServedCalls(Value):
    """The calls of one turn to one model for one purpose and one type of task.

    `probability` is how likely this model was when it was chosen; 1 if it was not drawn at random.
    `failed` counts calls without an answer, `is_fallback` says that it was a fallback.
    """

    model: str
    purpose: Use
    task_type: str
    complexity: Unit = 0.0
    chosen_by: str
    probability: Unit = 1.0
    calls: int = 1
    failed: int = 0
    cost: MicroUsd = 0
    latency_ms: int = 0
    last_row: str = ""

    @property
    def is_fallback(self) -> bool:
        """True if the model was a fallback for another one that failed."""
        return self.chosen_by == "fallback"


class TurnSignals(Value):
    """The learning signals of one ended turn.

    `given` and `held` are the acquired skills on trial that fitted: those whose text the model had,
    and those that were withheld at random. `asked` are those that the model read by itself. `found`
    are the memories that searches showed, and the experiences after LIVED. `hidden` says that this
    turn's searches were assigned to show no memories, `useful` are those of `found` whose words
    appear in what the turn said or did. `done` and `undone` count actions that succeeded and
    failed, `task_success` is whether the turn's task was confirmed or failed; None without a task.
    `corrects` and `repeats` are the earlier turn that the message of this one corrected or asked
    again. `outsider` says that it answered the public or a peer, whose words must not influence
    what an agent learns.
    """

    turn_id: str
    session_id: str
    at: datetime
    trigger: Trigger
    status: TurnStatus
    served: tuple[ServedCalls, ...] = ()
    given: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    hidden: bool = False
    could_hide: bool = False
    useful: tuple[str, ...] = ()
    done: int = Field(default=0, ge=0)
    undone: int = Field(default=0, ge=0)
    repairs: int = Field(default=0, ge=0)
    task_success: bool | None = None
    corrects: str = ""
    repeats: str = ""
    spoke: bool = False
    outsider: bool = False

    def without(self, memories: AbstractSet[str]) -> "TurnSignals":
        """Return the signals as if these memories and experiences had not been found."""
        return self.replaced(
            found=tuple(each for each in self.found if each.removeprefix(LIVED) not in memories),
            useful=tuple(each for each in self.useful if each.removeprefix(LIVED) not in memories),
        )

    @property
    def id(self) -> str:
        """The id of the document, sorted by time."""
        return signals_id(self.at, self.turn_id)


def signals_id(at: datetime, turn_id: str = "") -> str:
    """Return an id that sorts by time; without a turn it sorts before all of its moment."""
    return f"{at.strftime('%Y%m%dT%H%M%S.%fZ')}-{turn_id}"


def learned_skill_pin(name: str) -> str:
    """Return the text that pins a skill in the agent state."""
    return f"skill:{name}"


def learned_skills_on_trial(mind: AgentState) -> frozenset[str]:
    """Return the skills on trial, except pinned ones: turns may be without them at random."""
    return frozenset(
        skill.name
        for skill in mind.skills
        if skill.on_trial and learned_skill_pin(skill.name) not in mind.pinned
    )


def draw_learned_skill_holdouts(mind: AgentState, turn_id: str, percent: int) -> frozenset[str]:
    """Return the skills withheld from a turn, each at random with this percentage.

    The choice is made by hash bucketing: the same turn always gives the same skills.
    """
    return frozenset(
        name
        for name in learned_skills_on_trial(mind)
        if hash_fraction("skill", turn_id, name) * 100 < percent
    )
