"""Analysis of an agent's model calls, and recommendations based on it.

Figures are those of a period, from tallies; quality is of all time, from evidence. Nothing here
reads single calls.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from math import erf, sqrt

from opencrab.domain.insight.figures import (
    Counts,
    Efficiency,
    Figures,
    analytics_counts_in_period,
    analytics_counts_of_days,
    analytics_model_of_answer_key,
    analytics_of_counts,
    analytics_period_beginning,
    analytics_task_key,
    analytics_totals,
    group_analytics_figures,
    model_qualities_for_analytics,
)
from opencrab.domain.learning.bandit import LEAST_JUDGED
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.confidence import (
    Estimate,
    MomentSums,
    combine_estimates,
    estimate_difference,
)
from opencrab.domain.usage.counters import CounterCell, DailyTally
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.domain.value import Unit, Value

LIKELY = 0.8
"""The least probability of an improvement that is recommended."""

TOLERANCE = 0.05
"""The largest loss of quality at which a cheaper or faster model is still good enough."""

SAVED = 0.2
"""The least share of cost or latency saved that is worth a change."""


class Focus(StrEnum):
    """The aim of an analysis: it orders the groups and limits the recommendations."""

    COST = "cost"
    QUALITY = "quality"
    LATENCY = "latency"
    EFFICIENCY = "efficiency"
    ALL = "all"


class Category(StrEnum):
    """The property that a recommendation improves."""

    COST = "cost"
    QUALITY = "quality"
    LATENCY = "latency"


class Improvement(Value):
    """Expected improvement by a change: points of quality (0..1), and shares saved (0..1).

    A share is below 0 if more is needed, and null if the present value is unknown.
    """

    quality: float
    cost_saved: float | None = None
    latency_saved: float | None = None


class Recommendation(Value):
    """A change that the figures support.

    `current` is the model that is used most for this purpose and type of task, `suggestion` the
    alias of one that may be selected. `confidence` is the probability that quality is better, or no
    more than TOLERANCE worse if the change is to save something.
    """

    category: Category
    purpose: Use
    task_type: str
    current: str
    suggestion: str
    expected_improvement: Improvement
    confidence: Unit


class Analysis(Value):
    """Totals of the calls of a period.

    `since` is the actual start of the period. `groups` are by `group_by`, `tasks` by
    "purpose/task_type/model".
    """

    period: Period
    since: datetime | None
    until: datetime
    group_by: Grouping
    focus: Focus
    totals: Figures
    groups: dict[str, Figures]
    by_model: dict[str, Figures]
    by_purpose: dict[str, Figures]
    tasks: dict[str, Figures]
    quality_by_model: dict[str, Estimate]
    recommendations: tuple[Recommendation, ...]

    @property
    def cost_efficiency(self) -> Efficiency:
        """The cost efficiency of all calls together."""
        return self.totals.cost_efficiency


class ComparisonOutcome(StrEnum):
    """The result of a comparison of two models."""

    FIRST = "first_is_better"
    SECOND = "second_is_better"
    OPEN = "no_difference_shown"
    UNKNOWN = "too_little_data"


class QualityDifference(Value):
    """The quality of the first of two models minus that of the second (-1..1), with its interval.

    `judged` are the turns of each that count: those for a type of task that both were used for. A
    turn to which a model had no answer counts 0.
    """

    first: str
    second: str
    outcome: ComparisonOutcome
    quality: Estimate | None = None
    judged: tuple[int, int] = (0, 0)


class Comparison(Value):
    """Figures of several models, and the difference of each pair of them."""

    models: dict[str, Figures]
    differences: tuple[QualityDifference, ...]


def analyze_calls_of_period(
    tallies: Iterable[DailyTally],
    evidence: Evidence,
    *,
    period: Period,
    now: datetime,
    group_by: Grouping = Grouping.MODEL,
    focus: Focus = Focus.ALL,
    choices: Mapping[str, str] | None = None,
) -> Analysis:
    """Analyse the calls of a period; `tallies` are those of `figures.usage_tally_days`.

    The last hour is the present hour of the clock and the one before it, the last day the present
    hour and the 24 before it; a week and a month are whole days, from the day in which they begin.
    `choices` are the models by the aliases that may be recommended.
    """
    cells = analytics_counts_in_period(tallies, period, now)
    return Analysis(
        period=period,
        since=analytics_period_beginning(period, now),
        until=now,
        group_by=group_by,
        focus=focus,
        totals=analytics_totals(cells, evidence),
        groups=_sort_groups(group_analytics_figures(cells, evidence, group_by), focus),
        by_model=_sort_groups(group_analytics_figures(cells, evidence, Grouping.MODEL), focus),
        by_purpose=_sort_groups(group_analytics_figures(cells, evidence, Grouping.PURPOSE), focus),
        tasks=_sort_groups(group_analytics_figures(cells, evidence, None), focus),
        quality_by_model=model_qualities_for_analytics(evidence),
        recommendations=analytics_recommendations(cells, evidence, choices or {}, focus),
    )


def compare_models_for_analytics(
    tallies: Iterable[DailyTally],
    evidence: Evidence,
    models: Sequence[str],
    *,
    purpose: Use | None = None,
    task_type: str | None = None,
) -> Comparison:
    """Compare models, for one purpose and type of task or for all of them.

    A turn counts once for each model, however many purposes it served.
    """

    def fits(of: str, kind: str, model: str) -> bool:
        same = (purpose is None or of == purpose) and (task_type is None or kind == task_type)
        return same and model in wanted

    wanted = tuple(dict.fromkeys(models))
    asked = (
        tally
        for tally in tallies
        if fits(tally.cell.purpose, tally.cell.task_type, tally.cell.name)
    )
    known = {
        key: value
        for key, value in _answers(evidence, purpose).items()
        if fits(purpose or "", *key.split("/", 1))
    }
    found = group_analytics_figures(
        analytics_counts_of_days(asked), Evidence(answers=known), Grouping.MODEL
    )
    for name in wanted:
        of = (
            value.value_sums
            for key, value in known.items()
            if analytics_model_of_answer_key(key) == name
        )
        found.setdefault(name, analytics_of_counts({}, sum(of, MomentSums()), 0))
    pairs = ((one, two) for place, one in enumerate(wanted) for two in wanted[place + 1 :])
    return Comparison(
        models={name: found[name] for name in wanted},
        differences=tuple(_difference(known, one, two) for one, two in pairs),
    )


def analytics_recommendations(
    cells: Mapping[CounterCell, Counts],
    evidence: Evidence,
    choices: Mapping[str, str],
    focus: Focus = Focus.ALL,
) -> tuple[Recommendation, ...]:
    """Return the changes that the figures support, most certain first.

    Only `choices`, models by alias, are recommended. For each purpose and type of task the most
    used model is compared with every other one that has enough data; of those that improve the same
    category the most certain is taken.
    """
    asked: dict[tuple[Use, str], Counts] = {}
    for cell, counts in cells.items():
        calls = asked.setdefault((cell.purpose, cell.task_type), {})
        calls[cell.name] = calls.get(cell.name, 0) + counts.get("calls", 0)
    best: dict[tuple[Use, str, Category], Recommendation] = {}
    for (purpose, task_type), calls in asked.items():
        current = max(sorted(calls), key=lambda name: calls[name])
        for alias, model in sorted(choices.items()):
            for each in _better(evidence, (purpose, task_type), current, (alias, model)):
                place = (purpose, task_type, each.category)
                if place not in best or each.confidence > best[place].confidence:
                    best[place] = each
    sought = (each for each in best.values() if each.category in _SOUGHT[focus])
    return tuple(sorted(sought, key=lambda each: -each.confidence))


def _better(
    evidence: Evidence, task: tuple[Use, str], current: str, choice: tuple[str, str]
) -> Iterator[Recommendation]:
    """Yield the improvements of another model over the present one."""
    alias, model = choice
    now = evidence.models.get(analytics_task_key(*task, current))
    then = evidence.models.get(analytics_task_key(*task, model))
    if model == current or now is None or then is None:
        return
    present, other = now.value_sums, then.value_sums
    if min(present.n, other.n) < LEAST_JUDGED:
        return
    improvement = Improvement(
        quality=(other.mean or 0.0) - (present.mean or 0.0),
        cost_saved=_savings_share(now.cost, then.cost),
        latency_saved=_savings_share(now.latency, then.latency),
    )
    enough = _likely(other, present, -TOLERANCE)
    for category, confidence, is_worth_it in (
        (Category.QUALITY, _likely(other, present, 0.0), improvement.quality > 0),
        (Category.COST, enough, (improvement.cost_saved or 0.0) >= SAVED),
        (Category.LATENCY, enough, (improvement.latency_saved or 0.0) >= SAVED),
    ):
        if is_worth_it and confidence >= LIKELY:
            yield Recommendation(
                category=category,
                purpose=task[0],
                task_type=task[1],
                current=current,
                suggestion=alias,
                expected_improvement=improvement,
                confidence=round(confidence, 3),
            )


def _savings_share(now: MomentSums, then: MomentSums) -> float | None:
    """Return the share of a mean that another one saves; None without a mean to compare."""
    if not now.mean or then.mean is None:
        return None
    return round(1 - then.mean / now.mean, 3)


def _likely(first: MomentSums, second: MomentSums, above: float) -> float:
    """Compute the probability that the first mean exceeds the second by more than `above`.

    Both are taken as normally distributed.
    """
    spread = sqrt(first.variance / first.n + second.variance / second.n)
    gap = (first.mean or 0.0) - (second.mean or 0.0) - above
    return (1 + erf(gap / spread / sqrt(2))) / 2 if spread else float(gap > 0)


def _answers(evidence: Evidence, purpose: Use | None) -> dict[str, ModelEvidence]:
    """Return evidence of models by "task_type/model": for one purpose, or of whole turns."""
    if purpose is None:
        return evidence.answers
    start = f"{purpose.value}/"
    return {
        key.removeprefix(start): of for key, of in evidence.models.items() if key.startswith(start)
    }


def _difference(known: Mapping[str, ModelEvidence], first: str, second: str) -> QualityDifference:
    """Compare two models within each type of task, combined with weights n·m/(n+m).

    So a model is not rated lower because it gets harder tasks (Cochran, "Some methods for
    strengthening the common chi-squared tests", Biometrics 1954); limits are combined as in
    `domain.statistics.confidence.estimate_difference`.
    """
    pairs = [
        (of.value_sums, other.value_sums)
        for key, of in known.items()
        if analytics_model_of_answer_key(key) == first
        and (other := known.get(f"{key.removesuffix(first)}{second}")) is not None
    ]
    pairs = [(one, two) for one, two in pairs if one.n and two.n]
    judged = (sum(one.n for one, _ in pairs), sum(two.n for _, two in pairs))
    if min(judged) < LEAST_JUDGED:
        return QualityDifference(
            first=first, second=second, outcome=ComparisonOutcome.UNKNOWN, judged=judged
        )
    weights = [one.n * two.n / (one.n + two.n) for one, two in pairs]
    parts = (
        (weight / sum(weights), estimate_difference(one, two))
        for weight, (one, two) in zip(weights, pairs, strict=True)
    )
    quality = combine_estimates([(share, part) for share, part in parts if part is not None])
    shown = (
        ComparisonOutcome.FIRST
        if quality.low > 0
        else ComparisonOutcome.SECOND
        if quality.high < 0
        else None
    )
    return QualityDifference(
        first=first,
        second=second,
        outcome=shown or ComparisonOutcome.OPEN,
        quality=quality,
        judged=judged,
    )


def _sort_groups(parts: Mapping[str, Figures], focus: Focus) -> dict[str, Figures]:
    """Sort groups by the focus: the most expensive, worst, slowest or least efficient first."""
    return dict(sorted(parts.items(), key=lambda each: (_place(each[1], focus), each[0])))


def _place(part: Figures, focus: Focus) -> tuple[float, ...]:
    match focus:
        case Focus.QUALITY:
            return (2.0,) if part.quality is None else (part.quality.mean,)
        case Focus.LATENCY:
            return (-(part.mean_latency_ms or 0.0),)
        case Focus.EFFICIENCY:
            worth = part.cost_efficiency
            return (float("inf"),) if worth is None or worth == "free" else (worth,)
        case _:
            return (-part.cost_micro_usd, -part.calls)


_SOUGHT = {
    Focus.COST: {Category.COST},
    Focus.QUALITY: {Category.QUALITY},
    Focus.LATENCY: {Category.LATENCY},
    Focus.EFFICIENCY: {Category.COST, Category.QUALITY},
    Focus.ALL: set(Category),
}
