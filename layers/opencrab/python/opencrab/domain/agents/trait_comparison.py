"""Trait comparison: two souls that differ in one number, and what a judge's verdicts on them mean.

Each pair of answers is judged in both orders, because judges prefer a position (Zheng et al.,
"Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023).
"""

from enum import StrEnum

from opencrab.domain.agents.soul import Drives, Personality, Soul, is_soul_number_described
from opencrab.domain.errors import Invalid
from opencrab.domain.statistics.confidence import wilson_confidence_interval
from opencrab.domain.value import Unit, Value

QUESTIONS = 8
"""The number of questions for each number."""


class TraitName(StrEnum):
    """The numbers of a soul, in the order in which its prompt lists them."""

    OPENNESS = "openness"
    CONSCIENTIOUSNESS = "conscientiousness"
    EXTRAVERSION = "extraversion"
    AGREEABLENESS = "agreeableness"
    NEUROTICISM = "neuroticism"
    ASSERTIVENESS = "assertiveness"
    RESPONSIVENESS = "responsiveness"
    RISK_TOLERANCE = "risk_tolerance"
    COLLABORATION = "collaboration"
    DEPTH_VS_BREADTH = "depth_vs_breadth"
    QUALITY_VS_SPEED = "quality_vs_speed"


class TraitFinding(StrEnum):
    """What a comparison shows about a number."""

    DIFFERS = "differs"
    OPPOSITE = "opposite"
    NOT_SHOWN = "not_shown"


class TraitShare(Value):
    """The share of pairs that are as described, with its 95 % interval."""

    pairs: int
    share: Unit
    low: Unit
    high: Unit

    @property
    def finding(self) -> TraitFinding:
        """What the interval shows: one half is what a judge finds who sees no difference."""
        if self.low > 0.5:  # noqa: PLR2004 - one half
            return TraitFinding.DIFFERS
        return TraitFinding.OPPOSITE if self.high < 0.5 else TraitFinding.NOT_SHOWN  # noqa: PLR2004


def souls_of_trait_comparison(soul: Soul, name: TraitName) -> tuple[Soul, Soul]:
    """Return the soul with this number high, and with it low as far from neutral.

    The drives stay what they are. Raises Invalid if the number reads as neutral.
    """
    soul = soul.replaced(drives=soul.weights)
    part = _part_of(name)
    values = getattr(soul, part)
    if not is_soul_number_described(values, name.value):
        raise Invalid(
            f"{name.value} is neutral, so the prompt does not contain it",
            field="name",
            cure=f"choose another number, or set {name.value}",
        )
    neutral = getattr(type(values)(), name.value)
    distance = abs(getattr(values, name.value) - neutral)
    high, low = (
        soul.replaced(**{part: values.replaced(**{name.value: neutral + far})})
        for far in (distance, -distance)
    )
    return high, low


def told_traits(soul: Soul) -> tuple[TraitName, ...]:
    """Return the numbers of a soul that its prompt contains."""
    soul = soul.replaced(drives=soul.weights)
    return tuple(
        name
        for name in TraitName
        if is_soul_number_described(getattr(soul, _part_of(name)), name.value)
    )


def soul_trait_share_of_pair(verdicts: tuple[bool | None, bool | None]) -> float:
    """Return what two verdicts, one in each order, count for the version with the high number.

    True is for that version, None an unusable verdict. Without agreement it is one half.
    """
    first, second = verdicts
    return float(first) if first is not None and first is second else 0.5


def soul_trait_share(shares: list[float]) -> TraitShare:
    """Return the mean of at least one pair's shares, with its Wilson interval."""
    share = sum(shares) / len(shares)
    low, high = wilson_confidence_interval(share, len(shares))
    return TraitShare(pairs=len(shares), share=share, low=low, high=high)


def _part_of(name: TraitName) -> str:
    """Return the part of a soul that has this number."""
    if name in Personality.model_fields:
        return "personality"
    return "drives" if name in Drives.model_fields else "social_style"
