"""What follows from the figures of models: what is recommended, and what a comparison shows."""

import pytest

from opencrab.domain.insight.recommendations import (
    Analysis,
    Category,
    ComparisonOutcome,
    Focus,
    analyze_calls_of_period,
    compare_models_for_analytics,
)
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.models.routing import Use
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import Grouping, Period
from tests.unit.domain.measured import GPT, LOCAL, MINI, NOW, apart, calls, evidence, of

CHOICES = {"smart": GPT, "fast": MINI, "home": LOCAL}


def analysis(
    tallies: tuple[DailyTally, ...],
    known: Evidence,
    choices: dict[str, str] | None = None,
    focus: Focus = Focus.ALL,
) -> Analysis:
    return analyze_calls_of_period(
        tallies,
        known,
        period=Period.LAST_WEEK,
        now=NOW,
        focus=focus,
        choices=CHOICES if choices is None else choices,
    )


def test_a_cheaper_model_that_is_as_good_is_recommended() -> None:
    known = evidence(gpt=of(300, 0.8, cost=4_000), mini=of(300, 0.82, cost=1_000, latency=600))
    found = analysis(calls(GPT, 50, cost=4_000), known)
    (cost,) = found.recommendations
    assert (cost.category, cost.current, cost.suggestion) == (Category.COST, GPT, "fast")
    assert (cost.purpose, cost.task_type) == (Use.CONVERSATION, "conversation")
    assert cost.expected_improvement.cost_saved == 0.75
    assert cost.expected_improvement.latency_saved == -0.2
    assert cost.expected_improvement.quality == pytest.approx(0.02)
    assert 0.9 < cost.confidence < 1


def test_a_better_model_is_recommended_whatever_it_costs_and_a_quick_one_if_it_is_good() -> None:
    known = evidence(
        gpt=of(300, 0.9, cost=9_000), mini=of(300, 0.6), local=of(300, 0.6, cost=990, latency=100)
    )
    found = analysis(calls(MINI, 50), known)
    told = {each.category: each.suggestion for each in found.recommendations}
    assert told == {Category.QUALITY: "smart", Category.LATENCY: "home"}
    assert found.recommendations[0].category is Category.QUALITY
    assert [
        each.category
        for each in analysis(calls(MINI, 50), known, focus=Focus.LATENCY).recommendations
    ] == [Category.LATENCY]


@pytest.mark.parametrize(
    "known",
    [
        Evidence(),
        evidence(gpt=of(300, 0.8, cost=4_000)),
        evidence(gpt=of(300, 0.8, cost=4_000), mini=of(19, 1.0)),
        evidence(gpt=of(300, 0.8, cost=4_000), mini=of(300, 0.5)),
        evidence(gpt=of(300, 0.8, cost=0), mini=of(300, 0.8, cost=0)),
    ],
    ids=["no data", "one model", "too few turns", "cheap and bad", "both free and alike"],
)
def test_nothing_is_recommended_without_reason(known: Evidence) -> None:
    assert analysis(calls(GPT, 50), known).recommendations == ()


def test_no_model_is_recommended_that_may_not_be_selected() -> None:
    known = evidence(gpt=of(300, 0.5, cost=4_000), mini=of(300, 0.9), local=of(300, 0.9, cost=1))
    assert analysis(calls(GPT, 50), known, {}).recommendations == ()
    found = analysis(calls(GPT, 50), known, {"smart": GPT, "fast": MINI})
    assert {each.suggestion for each in found.recommendations} == {"fast"}


def test_a_model_that_gives_no_answers_is_not_good() -> None:
    silent = ModelEvidence(turns=300, failed=300)
    known = evidence(gpt=of(300, 0.5, cost=4_000), mini=silent)
    assert analysis(calls(GPT, 50), known).recommendations == ()
    (one,) = compare_models_for_analytics((), known, (GPT, MINI)).differences
    assert (one.outcome, one.judged) == (ComparisonOutcome.FIRST, (300, 300))


def test_groups_show_first_what_the_analysis_is_for() -> None:
    known = evidence(gpt=of(30, 0.9), mini=of(30, 0.3))
    tallies = (
        *calls(GPT, 2, cost=5_000, latency_ms=100),
        *calls(MINI, 9, cost=1_000, latency_ms=900),
        *calls(LOCAL, 1, cost=0, latency_ms=400),
    )
    first = {focus: next(iter(analysis(tallies, known, focus=focus).groups)) for focus in Focus}
    assert first == {
        Focus.COST: GPT,
        Focus.ALL: GPT,
        Focus.QUALITY: MINI,
        Focus.LATENCY: MINI,
        Focus.EFFICIENCY: GPT,
    }


def test_an_analysis_of_nothing_is_empty_and_says_so() -> None:
    for group_by in Grouping:
        found = analyze_calls_of_period(
            (), Evidence(), period=Period.ALL, now=NOW, group_by=group_by
        )
        assert (found.totals.calls, found.groups, found.recommendations) == (0, {}, ())
        assert found.cost_efficiency is None
        assert found.since is None


def test_a_clear_difference_shows_and_a_small_one_does_not() -> None:
    known = evidence(gpt=of(400, 0.9), mini=of(400, 0.5), local=of(400, 0.88))
    found = compare_models_for_analytics(calls(GPT, 3), known, (MINI, GPT, LOCAL, MINI))
    told = {(each.first, each.second): each for each in found.differences}
    assert list(found.models) == [MINI, GPT, LOCAL]
    assert found.models[GPT].calls == 3
    assert found.models[MINI].calls == 0
    assert found.models[MINI].quality is not None
    clear, small = told[MINI, GPT], told[GPT, LOCAL]
    assert clear.outcome is ComparisonOutcome.SECOND
    assert clear.quality is not None
    assert clear.quality.low < -0.4 < clear.quality.high < 0
    assert small.outcome is ComparisonOutcome.OPEN


def test_models_are_compared_on_the_same_work_only() -> None:
    """Gpt does the hard work; on each kind of work both are alike."""
    known = apart(
        {
            f"conversation/chat/{GPT}": of(20, 0.9),
            f"conversation/chat/{MINI}": of(400, 0.9),
            f"thinking/code/{GPT}": of(400, 0.3),
            f"thinking/code/{MINI}": of(20, 0.3),
            f"creative/poem/{GPT}": of(400, 1.0),
        }
    )
    (whole,) = compare_models_for_analytics((), known, (GPT, MINI)).differences
    assert whole.outcome is ComparisonOutcome.OPEN
    assert whole.quality is not None
    assert whole.quality.mean == pytest.approx(0.0)
    assert whole.judged == (420, 420)
    one = compare_models_for_analytics((), known, (GPT, MINI), purpose=Use.CREATIVE).differences[0]
    assert (one.outcome, one.quality) == (ComparisonOutcome.UNKNOWN, None)
    chat = compare_models_for_analytics((), known, (GPT, MINI), task_type="chat").differences[0]
    assert chat.judged == (20, 400)
