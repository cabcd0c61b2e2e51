"""Summaries of calls: totals, groups and means from the counts of tallies."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.call_summary import (
    CallSummary,
    CellCounts,
    group_usage,
    summarize_usage,
)
from opencrab.domain.usage.counters import merge_usage_tallies, usage_tally_of_call
from opencrab.domain.usage.ledger import Grouping, UsageRow
from tests.unit.domain.usage.test_ledger import row


def cells(rows: Iterable[UsageRow]) -> CellCounts:
    return {one.cell: one.counts for one in merge_usage_tallies(map(usage_tally_of_call, rows))}


def test_no_calls_come_to_nothing() -> None:
    assert summarize_usage({}) == CallSummary()
    assert summarize_usage({}).mean_quality is None


def test_a_summary_adds_up_and_means_leave_out_who_said_nothing() -> None:
    rows = (
        row(
            usage=Usage(input_tokens=10, output_tokens=3, cached_tokens=4, reasoning_tokens=1),
            latency_ms=100,
            first_token_ms=50,
            quality_score=0.5,
            self_evaluation="まあまあ",
        ),
        row(usage=Usage(input_tokens=1), latency_ms=201, quality_score=0.0),
        row(state=CallState.FAILED, cost=0),
        row(state=CallState.UNKNOWN, cost=90),
    )
    assert summarize_usage(cells(rows)) == CallSummary(
        calls=4,
        answered=2,
        failed=1,
        unknown=1,
        input_tokens=11,
        output_tokens=3,
        cached_tokens=4,
        reasoning_tokens=1,
        cost_micro_usd=100,
        unconfirmed_micro_usd=90,
        mean_latency_ms=150.5,
        mean_first_token_ms=50,
        mean_quality=0.25,
    )


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        (Grouping.MODEL, {"xai:grok": 9, "openai:gpt": 5}),
        (Grouping.PURPOSE, {"thinking": 9, "conversation": 5}),
        (Grouping.TASK_TYPE, {"design": 9, "conversation": 5}),
        (Grouping.COMPLEXITY, {"complex": 9, "simple": 5}),
    ],
)
def test_groups_come_dearest_first(by: Grouping, groups: dict[str, int]) -> None:
    dear = row(
        provider="xai",
        model="grok",
        purpose=Use.THINKING,
        task_type="design",
        complexity=0.71,
        cost=9,
    )
    found = group_usage(cells((row(cost=2), dear, row(cost=3))), by)
    assert [(key, one.cost_micro_usd) for key, one in found.items()] == list(groups.items())


ROWS = st.lists(
    st.builds(
        row,
        model=st.sampled_from(["a", "b", "c"]),
        cost=st.integers(0, 10**9),
        state=st.sampled_from(CallState),
        latency_ms=st.none() | st.integers(0, 10**6),
    ),
    max_size=12,
)


@given(rows=ROWS)
def test_groups_hold_every_call_once(rows: list[UsageRow]) -> None:
    groups, whole = group_usage(cells(rows), Grouping.MODEL), summarize_usage(cells(rows))
    assert sum(one.calls for one in groups.values()) == whole.calls == len(rows)
    assert sum(one.cost_micro_usd for one in groups.values()) == whole.cost_micro_usd
    costs = [one.cost_micro_usd for one in groups.values()]
    assert costs == sorted(costs, reverse=True)
