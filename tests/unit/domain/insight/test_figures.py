"""What counted calls came to: over which time, in which groups, and never from nothing."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from opencrab.domain.insight.figures import (
    analytics_counts_in_period,
    analytics_counts_of_days,
    analytics_days_of_period,
    analytics_of_counts,
    analytics_period_beginning,
    analytics_quality_per_dollar,
    analytics_totals,
    group_analytics_figures,
    model_qualities_for_analytics,
    weeks_of_analytics,
)
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import Grouping, Period
from tests.unit.domain.measured import GPT, LOCAL, NOW, ago, calls, evidence, of


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        (Period.LAST_HOUR, 2),
        (Period.LAST_DAY, 3),
        (Period.LAST_WEEK, 4),
        (Period.LAST_MONTH, 5),
        (Period.ALL, 6),
    ],
)
def test_a_period_counts_from_the_full_hour_or_day_in_which_it_begins(
    period: Period, expected: int
) -> None:
    first, last = analytics_days_of_period(period, NOW)
    hours = (0, 1.4, 24.4, 24 * 7 + 10, 24 * 30, 24 * 100)
    tallies = [tally for each in hours for tally in calls(GPT, 1, at=ago(each))]
    read = [tally for tally in tallies if first <= tally.day <= last]
    assert (
        sum(each["calls"] for each in analytics_counts_in_period(read, period, NOW).values())
        == expected
    )


def test_the_hour_before_the_first_full_one_and_hours_to_come_do_not_count() -> None:
    tallies = (*calls(GPT, 1, at=ago(2)), *calls(GPT, 1, at=ago(-2)))
    assert analytics_counts_in_period(tallies, Period.LAST_HOUR, NOW) == {}
    assert analytics_period_beginning(Period.LAST_HOUR, NOW) == datetime(
        2026, 11, 22, 9, tzinfo=UTC
    )
    assert analytics_period_beginning(Period.LAST_WEEK, NOW) == datetime(2026, 11, 15, tzinfo=UTC)
    assert analytics_period_beginning(Period.ALL, NOW) is None


@pytest.mark.parametrize("period", Period)
def test_the_weeks_of_a_period_have_each_of_its_days_once(period: Period) -> None:
    first, last = analytics_days_of_period(period, NOW)
    weeks = list(weeks_of_analytics(period, NOW))
    assert (weeks[0][0], weeks[-1][1]) == (first, last)
    for (_, until), (begins, _) in pairwise(weeks):
        assert date.fromisoformat(begins) - date.fromisoformat(until) == timedelta(days=1)


def test_more_calls_are_no_more_to_read() -> None:
    few, many = (
        [tally for day in range(3) for tally in calls(GPT, n, at=ago(24 * day))] for n in (1, 200)
    )
    assert len(few) == len(many) == 3
    assert sum(each["calls"] for each in analytics_counts_of_days(many).values()) == 600


def test_groups_have_their_share_their_means_and_the_quality_of_all_time() -> None:
    tallies = (
        *calls(GPT, 3, cost=3_000),
        *calls(LOCAL, 1, cost=0, latency_ms=None, purpose=Use.CREATIVE),
        *calls(GPT, 1, state=CallState.FAILED, cost=0, latency_ms=20_000),
    )
    known = evidence(gpt=of(40, 0.75), local=of(10, 0.5))
    cells = analytics_counts_in_period(tallies, Period.ALL, NOW)
    by_model = group_analytics_figures(cells, known, Grouping.MODEL)
    gpt, local = by_model[GPT], by_model[LOCAL]
    assert (gpt.calls, gpt.failed, gpt.success_rate, gpt.share) == (4, 1, 0.75, 0.8)
    assert (gpt.mean_latency_ms, gpt.p95_latency_ms) == (5_375.0, 32_768)
    assert gpt.quality is not None
    assert (gpt.quality.n, gpt.quality.mean) == (40, 0.75)
    assert gpt.cost_efficiency == pytest.approx(0.75 * 4 / 0.009, rel=1e-3)
    assert (local.mean_latency_ms, local.cost_efficiency) == (None, "free")
    assert set(group_analytics_figures(cells, known, Grouping.PURPOSE)) == {
        "conversation",
        "creative",
    }
    assert group_analytics_figures(cells, known, Grouping.PURPOSE)["creative"].quality is None
    assert all(
        each.quality is None
        for each in group_analytics_figures(cells, known, Grouping.COMPLEXITY).values()
    )
    assert (
        group_analytics_figures(cells, known, None)[f"conversation/conversation/{GPT}"].quality
        == gpt.quality
    )
    whole = analytics_totals(cells, known)
    assert (whole.calls, whole.total_tokens, whole.cost_micro_usd) == (5, 550, 9_000)
    assert whole.quality is not None
    assert whole.quality.n == 50
    assert list(model_qualities_for_analytics(known)) == [LOCAL, GPT]


def test_what_nobody_knows_stays_unknown() -> None:
    none = analytics_of_counts({}, None, 0)
    assert (none.success_rate, none.mean_latency_ms, none.quality, none.share) == (*[None] * 3, 0)
    assert analytics_of_counts({"calls": 2, "cost": 0}, None, 2).cost_efficiency is None
    assert analytics_of_counts({"calls": 2, "cost": 0}, MomentSums(), 2).cost_efficiency is None
    assert (
        analytics_quality_per_dollar(
            analytics_of_counts({}, MomentSums().with_value(0.5), 0).quality, 0, 0
        )
        is None
    )
    assert model_qualities_for_analytics(evidence(mini=of(0, 0.0))) == {}
    failed = analytics_of_counts({"calls": 2, "failed": 3}, None, 1)
    assert (failed.success_rate, failed.failed, failed.share) == (0.0, 2, 1.0)
