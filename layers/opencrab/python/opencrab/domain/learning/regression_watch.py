"""Watching: a mix that holds is watched, and taken back where its models became worse."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.learning.bandit import UNKNOWN, is_quality_below
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    heaviest_alias_of_mix,
)
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.statistics.confidence import Estimate, combine_estimates, estimate_mean

WATCHED = timedelta(days=14)
"""How long a mix may be taken back by what its quality is since then."""

_MOST = 0.5
_CARRIED = {"until", "then", "before"}


def watch_baseline(evidence: Evidence, name: str, models: Iterable[str]) -> dict[str, Any]:
    """What models were worth when a mix of them was made: from there its future is told."""
    known = evidence.models
    return {model: known.get(f"{name}/{model}", ModelEvidence()).told for model in models}


def start_watch_after(made: Adjustment, evidence: Evidence, day: str) -> Adjustment:
    """A mix whose future begins after a day, with all that was known at the end of that."""
    then = watch_baseline(evidence, made.subject, made.evidence["then"])
    then |= made.evidence.get("kept", {})
    return made.replaced(evidence={**made.evidence, "then": then, "until": day})


def carry_watch(
    earlier: Sequence[Adjustment], name: str, after: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """From where the models of a mix are watched on if it has the best model of the one that holds.

    Else each model that is tried out would begin the watch of the best one anew. A watch that is
    older than WATCHED ends all the same.
    """
    held = next(filter(is_watched_mix, mix_adjustments(earlier, name)), None)
    if (
        held is None
        or heaviest_alias_of_mix(held.after) != heaviest_alias_of_mix(after)
        or "until" not in held.evidence
    ):
        return {}
    begun = held.evidence.get("from", held.at.isoformat())
    if datetime.fromisoformat(begun) < now - WATCHED:
        return {}
    told = {key: held.evidence[key] for key in held.evidence if key in _CARRIED}
    return {"from": begun, **told}


def regressed_models(made: Adjustment, evidence: Evidence) -> tuple[str, ...]:
    """The models of a mix that became worse, where it is worse than what it was made for.

    Beyond doubt, that is: () where it is not. Each is compared with itself, and counts by its share
    of the mix, however often it was asked.
    """
    parts = tuple(_parts(made, evidence))
    judged = sum(share for _, share, _, _ in parts)
    if judged < _MOST:
        return ()
    was = combine_estimates([(share / judged, was) for _, share, was, _ in parts])
    if not is_quality_below(
        was, combine_estimates([(share / judged, now) for _, share, _, now in parts])
    ):
        return ()
    fell = tuple(model for model, _, was, now in parts if is_quality_below(was, now))
    return fell or tuple(model for model, _, was, now in parts if now.mean < was.mean)


def _parts(made: Adjustment, evidence: Evidence) -> Iterator[tuple[str, float, Estimate, Estimate]]:
    """Models of a mix that had turns since then, with their shares, and what they were and are."""
    then = made.evidence.get("then")
    if not made.evidence.get("quality") or not isinstance(then, dict):
        return
    names, before = made.evidence.get("models", {}), made.evidence.get("before", then)
    for alias, share in made.after.get("weights", {}).items():
        model = names.get(alias, alias)
        known = evidence.models.get(f"{made.subject}/{model}", ModelEvidence())
        now = estimate_mean(known.since(ModelEvidence.of(then.get(model, {}))).worth)
        if now is not None:
            was = estimate_mean(ModelEvidence.of(before.get(model, {})).worth)
            yield model, share, was or UNKNOWN, now


def is_watched_mix(each: Adjustment) -> bool:
    """Whether it is a mix that holds, and can be watched."""
    applied = each.kind is AdjustmentKind.MODELS and each.state is AdjustmentState.APPLIED
    return applied and "then" in each.evidence


def mix_adjustments(earlier: Sequence[Adjustment], name: str) -> Iterator[Adjustment]:
    """What was changed about a mix or proposed, in the order of all."""
    return (each for each in earlier if each.kind is AdjustmentKind.MODELS and each.subject == name)


def mix_subject(name: str) -> LearnedSubject:
    """A purpose and type of task as what evidence moves."""
    return LearnedSubject(kind=AdjustmentKind.MODELS, name=name)
