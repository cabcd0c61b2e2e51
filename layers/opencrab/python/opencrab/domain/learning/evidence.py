"""Evidence: results of many turns, as sums that can be added up day by day."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Self

from pydantic import Field

from opencrab.domain.memory.memory import LIVED
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.statistics.off_policy import WeightedTurns
from opencrab.domain.usage.ledger import Grouping
from opencrab.domain.value import Value

EVIDENCE = "evidence"
"""The kind of documents that store evidence: one for each open day by its name, one of all closed
days."""

STANDING = "standing"
"""The id of the document with the evidence of all closed days."""

ALL = ""
"""The key of all turns together in `Evidence.worths`."""

BINS = 5
"""The number of bins of self-given grades."""


class _Summed(Value):
    """A value that is added field by field."""

    def __add__(self, other: Self) -> Self:
        """Return the sum of both."""
        return self.replaced(**{name: mine + getattr(other, name) for name, mine in self})


class TreatedAndControl(_Summed):
    """Rewards of turns that had something, and of those from which it was withheld at random."""

    given: MomentSums = MomentSums()
    held: MomentSums = MomentSums()


class ModelEvidence(_Summed):
    """Rewards of one model's turns, their cost (micro-dollars) and latency (milliseconds).

    `failed` are the turns in which the model had no answer at all; they are in `turns` and in no
    sum. `weighted` are those for which it was drawn from a traffic split, for `off_policy`.
    """

    quality: MomentSums = MomentSums()
    cost: MomentSums = MomentSums()
    latency: MomentSums = MomentSums()
    turns: int = 0
    failed: int = 0
    weighted: WeightedTurns = WeightedTurns()

    @property
    def value_sums(self) -> MomentSums:
        """The sums of its turns' rewards; a turn without an answer counts 0.

        A missing answer is always noticed while a good one is seldom judged: therefore only the
        share of failures counts that equals the share of answers that were judged.
        """
        answered = self.turns - self.failed
        share = min(self.quality.n / answered, 1.0) if answered > 0 else 1.0
        return self.quality + MomentSums(n=round(self.failed * share))


class GradedTurns(_Summed):
    """A model's self-given grades in one bin, and the objective rewards of those turns."""

    grades: MomentSums = MomentSums()
    worth: MomentSums = MomentSums()


RECALLED_DAYS = 30
"""The days without a hit after which the hits of a memory are dropped."""


class MemoryHits(Value):
    """The number of searches that found a memory, and of those in which it was useful."""

    found: int = 0
    useful: int = 0
    at: datetime

    def __add__(self, other: "MemoryHits") -> "MemoryHits":
        """Return the sum; if over RECALLED_DAYS lie between both, only the later hits."""
        early, late = sorted((self, other), key=lambda each: each.at)
        if late.at - early.at > timedelta(days=RECALLED_DAYS):
            return late
        return MemoryHits(
            found=self.found + other.found,
            useful=self.useful + other.useful,
            at=max(self.at, other.at),
        )


class Evidence(Value):
    """Aggregated results of some turns.

    `models` is by "purpose/task_type/provider:model": a turn is in several of these, so they are
    read one by one and never added up. `answers` is by "task_type/provider:model" and has a turn
    once for each model, `worths` has each judged turn once: in all of them (ALL), for each purpose
    and for each type of task (`worth_key`). `skills` is by "skill/provider:model", `memories` with
    and without found memories, `recalled` by memory and by experience after LIVED, `grades` by
    model, BINS each from the lowest self-given grade to the highest.
    """

    turns: int = 0
    judged: int = 0
    models: dict[str, ModelEvidence] = Field(default_factory=dict)
    answers: dict[str, ModelEvidence] = Field(default_factory=dict)
    worths: dict[str, MomentSums] = Field(default_factory=dict)
    skills: dict[str, TreatedAndControl] = Field(default_factory=dict)
    memories: TreatedAndControl = TreatedAndControl()
    recalled: dict[str, MemoryHits] = Field(default_factory=dict)
    grades: dict[str, tuple[GradedTurns, ...]] = Field(default_factory=dict)

    def __add__(self, other: "Evidence") -> "Evidence":
        """Return the sum of both."""
        return Evidence(**{name: _sum(mine, getattr(other, name)) for name, mine in self})

    def without(self, memories: AbstractSet[str]) -> "Evidence":
        """Return the evidence without the hits of these memories and experiences."""
        left = {
            name: each
            for name, each in self.recalled.items()
            if name.removeprefix(LIVED) not in memories
        }
        return self.replaced(recalled=left)

    @property
    def memories_recalled(self) -> dict[str, MemoryHits]:
        """The hits of each memory, by id."""
        return {name: each for name, each in self.recalled.items() if not name.startswith(LIVED)}

    @property
    def experiences_recalled(self) -> dict[str, MemoryHits]:
        """The hits of each experience, by id."""
        return {
            name.removeprefix(LIVED): each
            for name, each in self.recalled.items()
            if name.startswith(LIVED)
        }


def worth_key(by: Grouping, group: str) -> str:
    """Return the key of a purpose or type of task in `Evidence.worths`."""
    return f"{by.value}/{group}"


class ClosedEvidence(Value):
    """All evidence of closed days; `closed_to` is the last of them, "" before the first.

    `seen` is the last day of each model that is in it.
    """

    closed_to: str = ""
    seen: dict[str, str] = Field(default_factory=dict)
    evidence: Evidence = Evidence()

    def without(self, memories: AbstractSet[str]) -> "ClosedEvidence":
        """Return the evidence without the hits of these memories and experiences."""
        return self.replaced(evidence=self.evidence.without(memories))


def _sum(one: Any, other: Any) -> Any:
    """Add two numbers or sums, bins one by one, and named ones by their names."""
    if isinstance(one, Mapping):
        both = {name: _sum(one[name], more) for name, more in other.items() if name in one}
        return {**one, **other, **both}
    if isinstance(one, tuple):
        if one and other:
            return tuple(_sum(*pair) for pair in zip(one, other, strict=True))
        return one or other
    return one + other
