"""Turn signals: what an ended turn shows about its models, skills and memories.

They are written with the turn's end and hold ids and numbers, nobody's words.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

from pydantic import Field

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.memory.memory import LIVED
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.hash_bucket import hash_fraction
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.value import MicroUsd, Unit, Value

SKILL_HOLDOUTS = "skill_holdouts"
"""The kind of documents that store how often skills are withheld; `CURRENT` is in force, the others
are those of earlier nights, in order of time: the probabilities of all turns whose signals are
kept."""

CURRENT = "current"

UNTRIED = 0.14
"""The probability with which a skill is withheld before its first night: that of its prior."""

SIGNALS = "signals"
"""The kind of documents that store turn signals; the id is `signals_id`, in order of time."""

KEPT_DAYS = 40

PICKED = frozenset({"turn", "session"})
"""The `chosen_by` of a model picked for this work: hard work may go to the better model."""


class ServedCalls(Value):
    """The calls of one turn to one model for one purpose and one type of task.

    `probability` is how likely this model was when it was chosen; 1 if it was not drawn at random.
    `failed` counts calls without an answer.
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
    def answered(self) -> bool:
        """True if any of the calls was answered."""
        return self.calls > self.failed


class TurnSignals(Value):
    """The learning signals of one ended turn.

    `given` and `held` are the acquired skills on trial that fitted: those whose text the model had,
    and those that were withheld at random. `asked` are those that the model read by itself. `found`
    are the memories that searches showed, and the experiences after LIVED. `hidden` says that this
    turn's searches were assigned to show no memories, `useful` are those of `found` whose words
    appear in what the turn said or did. `done` and `undone` count actions that succeeded and
    failed, `task_success` is whether the turn's task was confirmed or failed; None without a task.
    `corrects` and `repeats` are the earlier turn that the message of this one corrected or asked
    again, and `thanks` the one for which it thanked. `outsider` says that it answered the public or
    a peer, whose words must not influence what an agent learns.
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
    thanks: str = ""
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


def first_answering_model_calls(served: Sequence[ServedCalls]) -> ServedCalls:
    """Return the calls of the first model that answered; of the first one asked if none did."""
    return next((each for each in served if each.answered), served[0])


def has_model_answered(served: Iterable[ServedCalls]) -> bool:
    """Check whether any call of these groups was answered."""
    return sum(max(each.calls, 0) - max(each.failed, 0) for each in served) > 0


def signals_id(at: datetime, turn_id: str = "") -> str:
    """Return an id that sorts by time; without a turn it sorts before all of its moment."""
    return f"{at.strftime('%Y%m%dT%H%M%S.%fZ')}-{turn_id}"


class SkillHoldouts(Value):
    """How often each skill is withheld from the turns that it fits, by type of task.

    `shares` are the probabilities of skills on trial by skill and type of task, after "" those of
    other types. `only` are the types of task of promoted skills that are kept for these alone.
    """

    at: datetime
    shares: dict[str, dict[str, Unit]] = Field(default_factory=dict)
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    def share(self, skill: str, task_type: str, *, on_trial: bool) -> float:
        """Return the probability with which a skill is withheld from a turn that it fits."""
        if not on_trial:
            kinds = self.only.get(skill)
            return float(kinds is not None and task_type not in kinds)
        known = self.shares.get(skill, {})
        return known.get(task_type, known.get("", UNTRIED))


_NO_HOLDOUTS = SkillHoldouts.model_construct(at=datetime.min.replace(tzinfo=UTC))


def withheld_percent(holdouts: SkillHoldouts | None, skill: str, most: int) -> int:
    """Return the percentage of the turns that it fits from which a skill on trial is withheld.

    Over all types of task, and at most `most`.
    """
    share = (holdouts or _NO_HOLDOUTS).share(skill, "", on_trial=True)
    return min(round(100 * share), most)


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


def draw_learned_skill_holdouts(
    mind: AgentState, holdouts: SkillHoldouts | None, turn_id: str, task_type: str, percent: int
) -> frozenset[str]:
    """Return the skills withheld from a turn, each with its probability, at most `percent`.

    The choice is made by hash bucketing: the same turn always gives the same skills. A promoted
    skill is withheld from the types of task that it is not kept for. Pinned skills never are, and
    none without trials (`percent` 0).
    """
    known, trial = holdouts or _NO_HOLDOUTS, learned_skills_on_trial(mind)

    def is_withheld(name: str) -> bool:
        share = known.share(name, task_type, on_trial=name in trial)
        share = min(share, percent / 100) if name in trial else share
        is_pinned = learned_skill_pin(name) in mind.pinned
        return not is_pinned and hash_fraction("skill", turn_id, name) < share

    names = (skill.name for skill in mind.skills) if percent else ()
    return frozenset(filter(is_withheld, names))
