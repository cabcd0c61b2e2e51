"""Adjustments: what was changed about an agent on evidence, and how it is taken back."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.routing import Use
from opencrab.domain.models.traffic_split import MIXES, Mix
from opencrab.domain.value import Value

ADJUSTMENT = "adjustment"
"""Kind of the facts that these are; ids are in order of time."""

STOPPED = "stopped"
"""The reason of a change by which somebody ended what was tried out: no evidence spoke for it."""


class AdjustmentKind(StrEnum):
    """What an adjustment changes."""

    MODELS = "models"
    SKILL = "skill"
    EXPERIENCE = "experience"
    MEMORIES = "memories"


class AdjustmentState(StrEnum):
    """Status of an adjustment; one that was only proposed changed nothing."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    UNDONE = "undone"
    ROLLED_BACK = "rolled_back"
    SUPERSEDED = "superseded"


class Adjustment(Value):
    """One change of a traffic split, of a skill's status or of an experience.

    `subject` is `purpose/task_type` of a traffic split, the name of a skill or the id of an
    experience. `before` and `after` are the values before and after the change, {} for none.
    `evidence` are numbers by name. `reason` is the code of the deciding rule, `by` the period, turn
    or owner that made the change, `ended_by` who undid it.
    """

    id: str
    at: datetime
    kind: AdjustmentKind
    subject: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    reason: str
    by: str
    state: AdjustmentState = AdjustmentState.APPLIED
    ended_at: datetime | None = None
    ended_by: str = ""


PINS = 100
"""Most that an owner keeps as it is; a mind has no room for more."""


ALIKE = 0.1
"""Mixes whose weights differ by less are the same: they are drawn at random each night."""


class LearnedSubject(Value):
    """What evidence may move: `models:purpose/task_type`, `skill:name` or `experience:id`.

    What an owner may end beside that is `memories:search`: that searches of some turns hide them.
    """

    kind: AdjustmentKind
    name: str

    @property
    def text(self) -> str:
        """As a mind's pins and people name it."""
        return f"{self.kind.value}:{self.name}"

    @classmethod
    def of(cls, text: str) -> "LearnedSubject":
        """What a text names; raises Invalid for anything else."""
        kind, _, name = text.partition(":")
        purpose, _, task_type = name.partition("/")
        known = {each.value for each in AdjustmentKind}
        if kind == AdjustmentKind.MEMORIES and name != _SEARCH:
            kind = ""
        is_mix = purpose in {use.value for use in Use} and bool(task_type)
        if kind not in known or not name or (kind == AdjustmentKind.MODELS and not is_mix):
            raise Invalid(
                f"{text[:100]!r} is not a valid learning subject",
                field="subject",
                cure="use skill:NAME, experience:ID or models:PURPOSE/TASK_TYPE",
            )
        return cls(kind=AdjustmentKind(kind), name=name)


_SEARCH = "search"


MEMORIES = LearnedSubject(kind=AdjustmentKind.MEMORIES, name=_SEARCH)
"""What is tried out with memories: whether turns do better whose searches show them."""


def memory_holdout_percent(mind: AgentState, trials: TrialSettings) -> int:
    """In how many percent of turns searches hide memories: in none where the owner ended that."""
    return 0 if is_subject_pinned(mind, MEMORIES) else trials.memory_percent


def mix_of(mind: AgentState, name: str) -> Mix | None:
    """The mix of a `purpose/task_type`, if there is one."""
    return next((mix for mix in mind.mixes if mix.subject == name), None)


def with_mix(mind: AgentState, mix: Mix) -> AgentState:
    """A mind with a mix in place of the one for the same; raises Refused where there is no room."""
    others = [each for each in mind.mixes if each.subject != mix.subject]
    if len(others) >= MIXES:
        raise Refused(f"limit reached: {MIXES} learned traffic splits", cure="undo one")
    return mind.replaced(mixes=tuple(sorted((*others, mix), key=lambda each: each.subject)))


def without_mix(mind: AgentState, name: str) -> AgentState:
    """A mind without a mix for a `purpose/task_type`."""
    return mind.replaced(mixes=tuple(each for each in mind.mixes if each.subject != name))


def with_told_mix(mind: AgentState, name: str, told: Mapping[str, Any]) -> AgentState:
    """A mind whose mix is as a change tells it; {} is none. Raises Refused likewise."""
    mix = told_mix(name, told)
    return without_mix(mind, name) if mix is None else with_mix(mind, mix)


def told_mix(name: str, told: Mapping[str, Any]) -> Mix | None:
    """The mix that `before` or `after` of a change tells; None for {}."""
    if not told:
        return None
    purpose, _, task_type = name.partition("/")
    return Mix(purpose=Use(purpose), task_type=task_type, weights=dict(told["weights"]))


def describe_mix(mix: Mix | None) -> dict[str, Any]:
    """What a change tells of a mix, as its `before` or `after`."""
    return {} if mix is None else {"weights": {k: round(v, 4) for k, v in mix.weights.items()}}


def are_mixes_alike(
    first: Mapping[str, Any], second: Mapping[str, Any], within: float = ALIKE
) -> bool:
    """Whether two tellings of mixes come to the same but for chance: same best, close weights."""
    one: dict[str, float] = first.get("weights", {})
    other: dict[str, float] = second.get("weights", {})
    if not one or not other:
        return not one and not other
    if heaviest_alias_of_mix(first) != heaviest_alias_of_mix(second):
        return False
    names = {*one, *other}
    return all(abs(one.get(name, 0.0) - other.get(name, 0.0)) <= within for name in names)


def heaviest_alias_of_mix(told: Mapping[str, Any]) -> str:
    """The alias that a telling of a mix names most; "" where it names none."""
    weights: dict[str, float] = told.get("weights", {})
    return max(sorted(weights), key=lambda name: weights[name], default="")


def is_subject_pinned(mind: AgentState, subject: LearnedSubject) -> bool:
    """Whether the owner keeps it as it is."""
    return subject.text in mind.pinned


def with_subject_pin(mind: AgentState, subject: LearnedSubject) -> AgentState:
    """A mind in which no evidence moves the subject; raises Refused for more than PINS."""
    if is_subject_pinned(mind, subject):
        return mind
    if len(mind.pinned) >= PINS:
        raise Refused(f"limit reached: {PINS} pins", cure="remove one")
    return mind.replaced(pinned=tuple(sorted((*mind.pinned, subject.text))))


def without_subject_pin(mind: AgentState, subject: LearnedSubject) -> AgentState:
    """A mind in which evidence may move the subject again."""
    return mind.replaced(pinned=tuple(each for each in mind.pinned if each != subject.text))


def adjustment_id(at: datetime, *causes: str) -> str:
    """An id in order of time that is the same for the same causes at the same time."""
    framed = "".join(f"{len(cause)}:{cause}" for cause in causes)
    return new_ulid(int(at.timestamp() * 1_000), hashlib.sha256(framed.encode()).digest())


def end_adjustment(
    adjustment: Adjustment, state: AdjustmentState, at: datetime, by: str = ""
) -> Adjustment:
    """An adjustment that holds no longer, and who took it back."""
    return adjustment.replaced(state=state, ended_at=at, ended_by=by)
