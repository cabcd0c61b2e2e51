"""Regression watch: a traffic split is rolled back if its models became worse."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.learning.bandit import is_learned_quality_below
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    heaviest_learned_alias,
)
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.statistics.confidence import Estimate, combine_estimates, estimate_mean

WATCHED = timedelta(days=14)
"""The time in which a split may be rolled back because of its quality since it was made."""

UNKNOWN = Estimate(n=0, mean=0.5, low=0.0, high=1.0)
"""The estimate for a model without turns."""

_MOST = 0.5
_CARRIED = {"until", "then", "before"}


def regression_baseline(evidence: Evidence, name: str, models: Iterable[str]) -> dict[str, Any]:
    """Return the present evidence of models, against which a new split of them is watched."""
    known = evidence.models
    return {model: known.get(f"{name}/{model}", ModelEvidence()).as_dict for model in models}


def start_regression_watch_after(made: Adjustment, evidence: Evidence, day: str) -> Adjustment:
    """Start the watch of a split after a day, with the evidence at the end of that day."""
    then = regression_baseline(evidence, made.subject, made.evidence["then"])
    then |= made.evidence.get("kept", {})
    return made.replaced(evidence={**made.evidence, "then": then, "until": day})


def continued_baseline(
    earlier: Sequence[Adjustment], name: str, after: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the baseline to continue with if a split has the best model of the present one.

    Otherwise each newly explored model would restart the watch of the best one. A watch older than
    WATCHED is not continued; {} then.
    """
    held = next(filter(is_watched_mix, mix_adjustments(earlier, name)), None)
    if (
        held is None
        or heaviest_learned_alias(held.after) != heaviest_learned_alias(after)
        or "until" not in held.evidence
    ):
        return {}
    begun = held.evidence.get("from", held.at.isoformat())
    if datetime.fromisoformat(begun) < now - WATCHED:
        return {}
    told = {key: held.evidence[key] for key in held.evidence if key in _CARRIED}
    return {"from": begun, **told}


def models_with_regression(made: Adjustment, evidence: Evidence) -> tuple[str, ...]:
    """Return the models that became worse, if the split is significantly worse than expected.

    Otherwise (). Each model is compared with itself and counts by its share of the split, however
    often it was used.
    """
    parts = tuple(_parts(made, evidence))
    judged = sum(share for _, share, _, _ in parts)
    if judged < _MOST:
        return ()
    was = combine_estimates([(share / judged, was) for _, share, was, _ in parts])
    if not is_learned_quality_below(
        was, combine_estimates([(share / judged, now) for _, share, _, now in parts])
    ):
        return ()
    fell = tuple(model for model, _, was, now in parts if is_learned_quality_below(was, now))
    return fell or tuple(model for model, _, was, now in parts if now.mean < was.mean)


def _parts(made: Adjustment, evidence: Evidence) -> Iterator[tuple[str, float, Estimate, Estimate]]:
    """Yield model, share, and estimates before and now, for models with turns since the split."""
    then = made.evidence.get("then")
    if not made.evidence.get("quality") or not isinstance(then, dict):
        return
    names, before = made.evidence.get("models", {}), made.evidence.get("before", then)
    for alias, share in made.after.get("weights", {}).items():
        model = names.get(alias, alias)
        known = evidence.models.get(f"{made.subject}/{model}", ModelEvidence())
        now = estimate_mean(known.since(ModelEvidence.of(then.get(model, {}))).value_sums)
        if now is not None:
            was = estimate_mean(ModelEvidence.of(before.get(model, {})).value_sums)
            yield model, share, was or UNKNOWN, now


def is_watched_mix(each: Adjustment) -> bool:
    """Check whether an adjustment is a split in effect that can be watched."""
    applied = each.kind is AdjustmentKind.MODELS and each.state is AdjustmentState.APPLIED
    return applied and "then" in each.evidence


def mix_adjustments(earlier: Sequence[Adjustment], name: str) -> Iterator[Adjustment]:
    """Return the adjustments of a subject's split, also proposed ones, in the given order."""
    return (each for each in earlier if each.kind is AdjustmentKind.MODELS and each.subject == name)


def mix_subject(name: str) -> LearnedSubject:
    """Return the learning subject of a purpose and type of task."""
    return LearnedSubject(kind=AdjustmentKind.MODELS, name=name)
