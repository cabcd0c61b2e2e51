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
"""The kind of documents that store adjustments; ids are in order of time."""

STOPPED = "stopped"
"""The reason of a change by which the owner ended an experiment, without evidence."""


class AdjustmentKind(StrEnum):
    """The kind of thing that an adjustment changes."""

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

    @property
    def about(self) -> "LearnedSubject":
        """What it changes, with its kind."""
        return LearnedSubject(kind=self.kind, name=self.subject)


PINS = 100
"""The limit of pins of one agent; the agent state has no room for more."""


ALIKE = 0.1
"""The difference of weights below which splits are the same: they are drawn at random each night.
"""


class LearnedSubject(Value):
    """A thing that evidence may change: a traffic split, a skill or an experience.

    Written `models:purpose/task_type`, `skill:name` or `experience:id`. `memories:search` is the
    experiment in which searches of some turns hide memories; the owner may only end it.
    """

    kind: AdjustmentKind
    name: str

    @property
    def text(self) -> str:
        """The subject as text, as pins and users write it."""
        return f"{self.kind.value}:{self.name}"

    @classmethod
    def of(cls, text: str) -> "LearnedSubject":
        """Parse a subject from text; raises Invalid if it is none."""
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
"""The experiment with memories: whether turns do better if their searches show them."""


def learning_holdout_percent(mind: AgentState, trials: TrialSettings) -> int:
    """Return the percentage of turns whose searches hide memories; 0 if the owner ended that."""
    return 0 if is_learning_pinned(mind, MEMORIES) else trials.memory_percent


def mix_of(mind: AgentState, name: str) -> Mix | None:
    """Return the traffic split of a `purpose/task_type`, or None."""
    return next((mix for mix in mind.mixes if mix.subject == name), None)


def with_mix(mind: AgentState, mix: Mix) -> AgentState:
    """Return the agent state with a traffic split added, or replaced for the same subject.

    Raises Refused if there is no room for another one.
    """
    others = [each for each in mind.mixes if each.subject != mix.subject]
    if len(others) >= MIXES:
        raise Refused(f"limit reached: {MIXES} learned traffic splits", cure="undo one of them")
    return mind.replaced(mixes=tuple(sorted((*others, mix), key=lambda each: each.subject)))


def with_told_mix(mind: AgentState, name: str, told: Mapping[str, Any]) -> AgentState:
    """Return the agent state with the split that a change describes; {} removes it.

    Raises Refused if there is no room for another one.
    """
    if not told:
        return mind.replaced(mixes=tuple(each for each in mind.mixes if each.subject != name))
    purpose, _, task_type = name.partition("/")
    weights = dict(told["weights"])
    return with_mix(mind, Mix(purpose=Use(purpose), task_type=task_type, weights=weights))


def describe_mix(mix: Mix | None) -> dict[str, Any]:
    """Return a split as `before` or `after` of a change; {} for None."""
    return {} if mix is None else {"weights": {k: round(v, 4) for k, v in mix.weights.items()}}


def are_mixes_alike(
    first: Mapping[str, Any], second: Mapping[str, Any], within: float = ALIKE
) -> bool:
    """Check whether two descriptions of splits are nearly the same: same best, close weights."""
    one: dict[str, float] = first.get("weights", {})
    other: dict[str, float] = second.get("weights", {})
    if not one or not other:
        return not one and not other
    if heaviest_learned_alias(first) != heaviest_learned_alias(second):
        return False
    names = {*one, *other}
    return all(abs(one.get(name, 0.0) - other.get(name, 0.0)) <= within for name in names)


def heaviest_learned_alias(told: Mapping[str, Any]) -> str:
    """Return the alias with the largest weight in a description of a split; "" if it has none."""
    weights: dict[str, float] = told.get("weights", {})
    return max(sorted(weights), key=lambda name: weights[name], default="")


def is_learning_pinned(mind: AgentState, subject: LearnedSubject) -> bool:
    """Check whether the owner pinned the subject, so that evidence does not change it."""
    return subject.text in mind.pinned


def with_learned_pin(mind: AgentState, subject: LearnedSubject) -> AgentState:
    """Return the agent state with the subject pinned; raises Refused for more than PINS."""
    if is_learning_pinned(mind, subject):
        return mind
    if len(mind.pinned) >= PINS:
        raise Refused(f"limit reached: {PINS} pins", cure="remove one of them")
    return mind.replaced(pinned=tuple(sorted((*mind.pinned, subject.text))))


def without_learned_pin(mind: AgentState, subject: LearnedSubject) -> AgentState:
    """Return the agent state with the subject's pin removed."""
    return mind.replaced(pinned=tuple(each for each in mind.pinned if each != subject.text))


def adjustment_id(at: datetime, *causes: str) -> str:
    """Compute an id that sorts by time and is the same for the same causes at the same time."""
    framed = "".join(f"{len(cause)}:{cause}" for cause in causes)
    return new_ulid(int(at.timestamp() * 1_000), hashlib.sha256(framed.encode()).digest())


def end_adjustment(
    adjustment: Adjustment, state: AdjustmentState, at: datetime, by: str = ""
) -> Adjustment:
    """Return an adjustment that is no longer in effect, with who ended it and when."""
    return adjustment.replaced(state=state, ended_at=at, ended_by=by)
