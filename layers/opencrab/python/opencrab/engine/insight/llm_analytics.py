"""Usage of models over time, for an agent's owner: calls, turns, cost, quality."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from opencrab.domain.insight.calibration import CalibrationCurve, self_grade_calibration_curve
from opencrab.domain.insight.figures import Figures, analytics_counts_in_period
from opencrab.domain.insight.recommendations import Analysis, Focus, analyze_calls_of_period
from opencrab.domain.learning.reward import JudgedTurn
from opencrab.domain.statistics.confidence import Estimate, MomentSums, estimate_mean
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.usage.counters import DailyTally, sum_usage_counts, usage_tally_day
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.domain.value import MicroUsd, Unit, Value
from opencrab.engine.insight.measures import (
    LITTLE,
    RecentSignals,
    iso_review_week,
    judge_turns_for_learning,
    read_learning_tallies,
    recent_learning_signals,
)
from opencrab.engine.learning.candidate_models import learning_candidate_models
from opencrab.engine.runtime import Runtime
from opencrab.ports.learning import load_current_learning_data

_DAY = timedelta(days=1)


class DayOfUse(Value):
    """An agent's calls and turns of one day (UTC); `spoke` counts turns in which it said something.

    The numbers of turns are null for days whose turns are no longer all stored.
    """

    day: str
    calls: int
    failed: int
    cost_micro_usd: MicroUsd
    turns: int | None
    spoke: int | None


class WeekOfUse(Value):
    """An agent's calls of one week (ISO, UTC), as far as it is in the period."""

    week: str
    calls: int
    cost_micro_usd: MicroUsd


class ShareOfUse(Value):
    """Use of one model; its share of the cost is null if nothing cost anything."""

    model: str
    calls: int
    cost_micro_usd: MicroUsd
    share_of_calls: Unit
    share_of_cost: Unit | None


class TurnFigures(Value):
    """Figures of an agent's turns since a time; `complete` says that the period is covered.

    `spoke_a_day` is the number of turns a day in which it said something; null if there were no
    turns.
    """

    since: datetime
    complete: bool
    turns: int
    spoke: int
    spoke_a_day: float | None
    triggers: dict[Trigger, int]
    statuses: dict[TurnStatus, int]


class UsageAnalytics(Value):
    """An agent's calls and turns of a period; days without a call and a turn are left out.

    `since` is the actual start of the period: at a full hour or day (UTC).
    """

    agent_id: str
    period: Period
    since: datetime | None
    until: datetime
    as_of: str | None
    totals: Figures
    days: tuple[DayOfUse, ...]
    weeks: tuple[WeekOfUse, ...]
    models: tuple[ShareOfUse, ...]
    turns: TurnFigures


class WeekOfQuality(Value):
    """Value of the turns that ended in one week (ISO, UTC), as far as it is known."""

    week: str
    turns: int
    judged: int
    quality: Estimate | None
    reason: str | None


class LlmAnalytics(Value):
    """An agent's use of models with results; `reason` says why there is no quality.

    `weeks` are the turns since `weeks_since`, the newest week last. `calibration` shows how
    reliable the agent's own grades of a model's answers are.
    """

    agent_id: str
    as_of: str | None
    analysis: Analysis
    weeks: tuple[WeekOfQuality, ...]
    weeks_since: datetime
    calibration: dict[str, CalibrationCurve]
    reason: str | None


def usage_analytics(runtime: Runtime, agent_id: str, period: Period) -> UsageAnalytics:
    """Return an agent's calls, turns and costs of a period by day and week; raises NotFound."""
    agent = runtime.home.agents.get(agent_id).agent
    now, counts = runtime.clock.now(), dict[str, dict[str, int]]()
    tallies = _adding(read_learning_tallies(runtime, agent_id, period), period, now, counts)
    learned = load_current_learning_data(runtime.home.facts, agent_id, now)
    found = analyze_calls_of_period(tallies, learned.evidence, period=period, now=now)
    begun = max(agent.created_at, found.since or agent.created_at)
    turns = recent_learning_signals(runtime, agent_id, begun)
    days = _days(counts, turns)
    return UsageAnalytics(
        agent_id=agent_id,
        period=period,
        since=found.since,
        until=now,
        as_of=learned.as_of or None,
        totals=found.totals,
        days=days,
        weeks=_weeks(days),
        models=_shares(found),
        turns=_turns(turns, begun, now),
    )


def llm_analytics(
    runtime: Runtime, agent_id: str, period: Period, group_by: Grouping, focus: Focus
) -> LlmAnalytics:
    """Return cost, quality and recommendations for an agent's models; raises NotFound."""
    agent = runtime.home.agents.get(agent_id).agent
    facts, now = runtime.home.facts, runtime.clock.now()
    learned = load_current_learning_data(facts, agent_id, now)
    turns = recent_learning_signals(runtime, agent_id)
    found = analyze_calls_of_period(
        read_learning_tallies(runtime, agent_id, period),
        learned.evidence,
        period=period,
        now=now,
        group_by=group_by,
        focus=focus,
        choices={
            alias: each.name
            for alias, each in learning_candidate_models(runtime.models, agent).items()
        },
    )
    return LlmAnalytics(
        agent_id=agent_id,
        as_of=learned.as_of or None,
        analysis=found,
        weeks=_qualities(judge_turns_for_learning(facts, agent_id, turns)),
        weeks_since=turns.since,
        calibration={
            model: self_grade_calibration_curve(bins)
            for model, bins in sorted(learned.evidence.grades.items())
            if bins
        },
        reason=None if found.quality_by_model else LITTLE,
    )


def _adding(
    tallies: Iterable[DailyTally], period: Period, now: datetime, days: dict[str, dict[str, int]]
) -> Iterator[DailyTally]:
    """Yield the tallies unchanged, adding their counts to `days`, so that no list holds all."""
    for tally in tallies:
        for of in analytics_counts_in_period((tally,), period, now).values():
            days[tally.day] = sum_usage_counts(days.get(tally.day, {}), of)
        yield tally


def _days(counts: Mapping[str, Mapping[str, int]], turns: RecentSignals) -> tuple[DayOfUse, ...]:
    whole = "" if turns.complete else usage_tally_day(turns.since + _DAY)
    ended = Counter(usage_tally_day(each.at) for each in turns.signals)
    spoke = Counter(usage_tally_day(each.at) for each in turns.signals if each.spoke)
    return tuple(
        DayOfUse(
            day=day,
            calls=counts.get(day, {}).get("calls", 0),
            failed=counts.get(day, {}).get("failed", 0),
            cost_micro_usd=counts.get(day, {}).get("cost", 0),
            turns=ended[day] if day >= whole else None,
            spoke=spoke[day] if day >= whole else None,
        )
        for day in sorted({*counts, *ended})
    )


def _weeks(days: Sequence[DayOfUse]) -> tuple[WeekOfUse, ...]:
    calls, cost = Counter[str](), Counter[str]()
    for day in days:
        calls[iso_review_week(day.day)] += day.calls
        cost[iso_review_week(day.day)] += day.cost_micro_usd
    return tuple(
        WeekOfUse(week=week, calls=calls[week], cost_micro_usd=cost[week]) for week in sorted(calls)
    )


def _shares(found: Analysis) -> tuple[ShareOfUse, ...]:
    spent = found.totals.cost_micro_usd
    return tuple(
        ShareOfUse(
            model=model,
            calls=of.calls,
            cost_micro_usd=of.cost_micro_usd,
            share_of_calls=of.share,
            share_of_cost=of.cost_micro_usd / spent if spent else None,
        )
        for model, of in found.by_model.items()
    )


def _turns(turns: RecentSignals, begun: datetime, now: datetime) -> TurnFigures:
    spoke = sum(each.spoke for each in turns.signals)
    days = max((now - max(turns.since, begun)) / _DAY, 1.0)
    return TurnFigures(
        since=turns.since,
        complete=turns.complete,
        turns=len(turns.signals),
        spoke=spoke,
        spoke_a_day=round(spoke / days, 2) if turns.signals else None,
        triggers=Counter(each.trigger for each in turns.signals),
        statuses=Counter(each.status for each in turns.signals),
    )


def _qualities(turns: Iterable[JudgedTurn]) -> tuple[WeekOfQuality, ...]:
    ended, sums = Counter[str](), dict[str, MomentSums]()
    for each in turns:
        week = iso_review_week(each.signals.at)
        ended[week] += 1
        if each.worth is not None:
            sums[week] = sums.get(week, MomentSums()).with_value(each.worth)
    return tuple(
        WeekOfQuality(
            week=week,
            turns=ended[week],
            judged=sums.get(week, MomentSums()).n,
            quality=estimate_mean(sums.get(week, MomentSums())),
            reason=None if week in sums else LITTLE,
        )
        for week in sorted(ended)
    )
