"""Watching: a mix that holds is watched, and taken back where its models became worse."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.learning.bandit import UNKNOWN, is_below
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    Subject,
    top,
)
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.statistics.confidence import Estimate, combine_estimates, estimate

WATCHED = timedelta(days=14)
"""How long a mix may be taken back by what its quality is since then."""

_MOST = 0.5
_CARRIED = {"until", "then", "before"}


def then_of(evidence: Evidence, name: str, models: Iterable[str]) -> dict[str, Any]:
    """What models were worth when a mix of them was made: from there its future is told."""
    known = evidence.models
    return {model: known.get(f"{name}/{model}", ModelEvidence()).told for model in models}


def counted_from(made: Adjustment, evidence: Evidence, day: str) -> Adjustment:
    """A mix whose future begins after a day, with all that was known at the end of that."""
    then = then_of(evidence, made.subject, made.evidence["then"])
    then |= made.evidence.get("kept", {})
    return made.replaced(evidence={**made.evidence, "then": then, "until": day})


def carry_watch(
    earlier: Sequence[Adjustment], name: str, after: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """From where the models of a mix are watched on if it has the best model of the one that holds.

    Else each model that is tried out would begin the watch of the best one anew. A watch that is
    older than WATCHED ends all the same.
    """
    held = next(filter(is_held, about(earlier, name)), None)
    if held is None or top(held.after) != top(after) or "until" not in held.evidence:
        return {}
    begun = held.evidence.get("from", held.at.isoformat())
    if datetime.fromisoformat(begun) < now - WATCHED:
        return {}
    told = {key: held.evidence[key] for key in held.evidence if key in _CARRIED}
    return {"from": begun, **told}


def fell_since(made: Adjustment, evidence: Evidence) -> tuple[str, ...]:
    """The models of a mix that became worse, where it is worse than what it was made for.

    Beyond doubt, that is: () where it is not. Each is compared with itself, and counts by its share
    of the mix, however often it was asked.
    """
    parts = tuple(_parts(made, evidence))
    judged = sum(share for _, share, _, _ in parts)
    if judged < _MOST:
        return ()
    was = combine_estimates([(share / judged, was) for _, share, was, _ in parts])
    if not is_below(was, combine_estimates([(share / judged, now) for _, share, _, now in parts])):
        return ()
    fell = tuple(model for model, _, was, now in parts if is_below(was, now))
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
        now = estimate(known.since(ModelEvidence.of(then.get(model, {}))).worth)
        if now is not None:
            was = estimate(ModelEvidence.of(before.get(model, {})).worth)
            yield model, share, was or UNKNOWN, now


def is_held(each: Adjustment) -> bool:
    """Whether it is a mix that holds, and can be watched."""
    applied = each.kind is AdjustmentKind.MODELS and each.state is AdjustmentState.APPLIED
    return applied and "then" in each.evidence


def about(earlier: Sequence[Adjustment], name: str) -> Iterator[Adjustment]:
    """What was changed about a mix or proposed, in the order of all."""
    return (each for each in earlier if each.kind is AdjustmentKind.MODELS and each.subject == name)


def subject(name: str) -> Subject:
    """A purpose and type of task as what evidence moves."""
    return Subject(kind=AdjustmentKind.MODELS, name=name)
