"""Evidence: what many turns together tell, in sums that can be added up day by day."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Protocol, Self, TypeVar

from pydantic import Field

from opencrab.domain.memory.memory import LIVED
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.statistics.off_policy import WeightedTurns
from opencrab.domain.usage.ledger import Grouping
from opencrab.domain.value import Value

EVIDENCE = "evidence"
"""Kind of the facts that hold it: one for each open day by its name, one of all that is closed."""

STANDING = "standing"
"""Id of what all closed days tell together."""

ALL = ""
"""How `Evidence.worths` names all turns together."""

BINS = 5
"""Steps of self-given grades that are told apart."""


class _Summed(Value):
    """A value of which two together are the sums of their fields."""

    def __add__(self, other: Self) -> Self:
        """Both together."""
        return self.replaced(**{name: mine + getattr(other, name) for name, mine in self})


class TreatedAndControl(_Summed):
    """How turns went that had something, and those from which the coin withheld it."""

    given: MomentSums = MomentSums()
    held: MomentSums = MomentSums()


class ModelEvidence(_Summed):
    """How turns went with one model, what they cost (micro-dollars) and took (milliseconds).

    `failed` are the turns for which it had no answer at all; they are in `turns` and in no sum.
    `weighted` are those that it drew from a mix, for `off_policy`.
    """

    quality: MomentSums = MomentSums()
    cost: MomentSums = MomentSums()
    latency: MomentSums = MomentSums()
    turns: int = 0
    failed: int = 0
    weighted: WeightedTurns = WeightedTurns()

    @property
    def worth(self) -> MomentSums:
        """What its turns were worth; one for which it had no answer is worth nothing.

        A missing answer is always noticed, a good one is judged seldom: of the failures as many
        count as of the answers were judged.
        """
        answered = self.turns - self.failed
        share = min(self.quality.n / answered, 1.0) if answered > 0 else 1.0
        return self.quality + MomentSums(n=round(self.failed * share))

    @property
    def told(self) -> dict[str, Any]:
        """What turns were worth, and how many there were, as a change of models keeps it."""
        return self.quality.model_dump(mode="json") | {"turns": self.turns, "failed": self.failed}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "ModelEvidence":
        """The same, read again; {} is nothing."""
        sums = {name: told[name] for name in MomentSums.model_fields if name in told}
        return cls(
            quality=MomentSums(**sums),
            turns=int(told.get("turns", 0)),
            failed=int(told.get("failed", 0)),
        )

    def since(self, then: "ModelEvidence") -> "ModelEvidence":
        """What its turns were worth since it was `then`; nothing where late news took some away."""
        return ModelEvidence(
            quality=self.quality.since(then.quality),
            turns=max(self.turns - then.turns, 0),
            failed=max(self.failed - then.failed, 0),
        )


class GradedTurns(_Summed):
    """What a model's turns were worth by objective signals where it gave itself such a grade."""

    grades: MomentSums = MomentSums()
    worth: MomentSums = MomentSums()


RECALLED_DAYS = 30
"""How long what no search found any more is told among those that were found."""


class MemoryHits(Value):
    """How often a memory was found by a search, and how often it was of use."""

    found: int = 0
    useful: int = 0
    at: datetime

    def __add__(self, other: "MemoryHits") -> "MemoryHits":
        """Both together; what was found no more for RECALLED_DAYS begins anew."""
        early, late = sorted((self, other), key=lambda each: each.at)
        if late.at - early.at > timedelta(days=RECALLED_DAYS):
            return late
        return MemoryHits(
            found=self.found + other.found,
            useful=self.useful + other.useful,
            at=max(self.at, other.at),
        )


class Evidence(Value):
    """What some turns tell together.

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
        """Both together."""
        return Evidence(
            turns=self.turns + other.turns,
            judged=self.judged + other.judged,
            models=_merge_sums(self.models, other.models),
            answers=_merge_sums(self.answers, other.answers),
            worths=_merge_sums(self.worths, other.worths),
            skills=_merge_sums(self.skills, other.skills),
            memories=self.memories + other.memories,
            recalled=_merge_sums(self.recalled, other.recalled),
            grades=_bins(self.grades, other.grades),
        )

    def without(self, memories: AbstractSet[str]) -> "Evidence":
        """The same without what is told of these memories and experiences one by one."""
        left = {
            name: each
            for name, each in self.recalled.items()
            if name.removeprefix(LIVED) not in memories
        }
        return self.replaced(recalled=left)

    @property
    def memories_recalled(self) -> dict[str, MemoryHits]:
        """How often memories were found, by id."""
        return {name: each for name, each in self.recalled.items() if not name.startswith(LIVED)}

    @property
    def experiences_recalled(self) -> dict[str, MemoryHits]:
        """How often experiences were found, by id."""
        return {
            name.removeprefix(LIVED): each
            for name, each in self.recalled.items()
            if name.startswith(LIVED)
        }


def worth_key(by: Grouping, group: str) -> str:
    """How `Evidence.worths` names a purpose or a type of task."""
    return f"{by.value}/{group}"


class ClosedEvidence(Value):
    """All evidence of closed days; `closed_to` is the last of them, "" before the first.

    `seen` is the last day of each model that is in it.
    """

    closed_to: str = ""
    seen: dict[str, str] = Field(default_factory=dict)
    evidence: Evidence = Evidence()

    def without(self, memories: AbstractSet[str]) -> "ClosedEvidence":
        """The same without what is told of these memories one by one."""
        return self.replaced(evidence=self.evidence.without(memories))


class _Adds(Protocol):
    def __add__(self, other: Self) -> Self: ...


_Sum = TypeVar("_Sum", bound=_Adds)


def _merge_sums(first: Mapping[str, _Sum], second: Mapping[str, _Sum]) -> dict[str, _Sum]:
    together = dict(first)
    for key, more in second.items():
        together[key] = together[key] + more if key in together else more
    return together


def _bins(
    first: dict[str, tuple[GradedTurns, ...]], second: dict[str, tuple[GradedTurns, ...]]
) -> dict[str, tuple[GradedTurns, ...]]:
    return {
        model: tuple(
            one + other
            for one, other in zip(
                first.get(model) or _EMPTY, second.get(model) or _EMPTY, strict=True
            )
        )
        for model in {**first, **second}
    }


_EMPTY = (GradedTurns(),) * BINS
