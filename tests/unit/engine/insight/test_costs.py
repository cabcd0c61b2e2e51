"""Costs of a turn and of an agent: every share named, every sum checked."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE, Price, Usage
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Block, Trigger, Turn
from opencrab.domain.usage.ledger import Judgement, Period, Settlement, UsageRow
from opencrab.engine.insight.costs import (
    Ground,
    call_cost_for_insight,
    costs_for_insight,
    turn_cost_for_insight,
)
from opencrab.ports.turn.journal import TurnChange
from opencrab.ports.usage.ledger import UsageLedger
from tests.unit.engine.known_world import NOW, World

PRICE = Price(input_per_million=3, output_per_million=15, cached_per_million=1)
AMOUNTS = st.integers(0, 10**12)
TOKENS = st.integers(-5, 10**9)
PRICES = st.builds(
    Price,
    input_per_million=AMOUNTS,
    output_per_million=AMOUNTS,
    cached_per_million=st.none() | AMOUNTS,
    cache_write_per_million=st.none() | AMOUNTS,
    cache_write_long_per_million=st.none() | AMOUNTS,
)
USAGES = st.builds(
    Usage,
    input_tokens=TOKENS,
    output_tokens=TOKENS,
    cached_tokens=TOKENS,
    cache_write_tokens=TOKENS,
    cache_write_long_tokens=TOKENS,
    reported_micro_usd=st.none() | AMOUNTS,
)


def row(**changes: Any) -> UsageRow:
    """A call that was answered for nothing."""
    facts: dict[str, Any] = {
        "agent_id": "mika",
        "session_id": "s1",
        "turn_id": "t1",
        "n": 1,
        "at": NOW,
        "trigger": Trigger.MESSAGE,
        "provider": "openai",
        "model": "gpt",
        "purpose": Use.CONVERSATION,
        "task_type": "conversation",
        "complexity": 0.1,
        "tier": 2,
        "chosen_by": "default",
        "state": CallState.COMPLETED,
        "reserved": 10**15,
        "cost": 0,
    }
    return UsageRow(**facts | changes)


@given(
    price=PRICES | st.none(), usage=USAGES, state=st.sampled_from(list(CallState)), extra=AMOUNTS
)
def test_shares_add_up_to_the_cost_whatever_was_counted(
    price: Price | None, usage: Usage, state: CallState, extra: int
) -> None:
    for cost in {0, extra, price.cost(usage) if price else 1}:
        found = call_cost_for_insight(row(price=price, usage=usage, state=state, cost=cost))
        assert sum(share.micro_usd for share in found) == cost
        assert all(share.micro_usd >= 0 for share in found)


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"price": PRICE, "usage": Usage(input_tokens=10**6), "cost": 3}, ["input"]),
        (
            {"price": PRICE, "usage": Usage(input_tokens=10**6, output_tokens=1), "cost": 4},
            ["input", "output", "rounding"],
        ),
        ({"price": PRICE, "usage": Usage(reported_micro_usd=9), "cost": 9}, ["reported"]),
        ({"price": PRICE, "cost": 50}, ["uncounted"]),
        ({"state": CallState.UNKNOWN, "cost": 50}, ["unknown"]),
        ({"state": CallState.FAILED, "fault": Fault.TIMEOUT, "cost": 50}, ["perhaps_billed"]),
        ({"state": CallState.FAILED, "fault": Fault.AUTH}, []),
        ({"price": FREE, "usage": Usage(input_tokens=5)}, []),
    ],
)
def test_a_cost_is_told_by_its_shares(changes: dict[str, Any], kinds: list[str]) -> None:
    assert [share.kind for share in call_cost_for_insight(row(**changes))] == kinds


def began(world: World, reserved: int = 30, drew: int = 100) -> tuple[Turn, ModelIntent]:
    """A turn whose first model call was begun, and may be lost."""
    turn = world.claimed(world.say("いくら?")[0])
    intent = ModelIntent(n=1, model="openai:gpt", request_hash="h", reserved=reserved, price=PRICE)
    block = Block(day="2026-02-17", micro_usd=drew, scopes=("session:s1",))
    held = turn.with_reservation(reserved, block).replaced(sequence=2)
    change = TurnChange(turn=held, expected=turn.sequence, records=(intent,), at=NOW)
    return world.runtime.home.journal.commit(change), intent


def settled(world: World, turn: Turn, result: ModelResult, intent: ModelIntent) -> Turn:
    """The turn after its call had a result, with its row."""
    after = turn.with_cost(reserved=intent.reserved, cost=result.cost).replaced(sequence=3)
    written = UsageRow.of_call(after, intent, result, NOW)
    change = TurnChange(
        turn=after, expected=turn.sequence, records=(result,), usage=(written,), at=NOW
    )
    return world.runtime.home.journal.commit(change)


def test_a_running_call_holds_its_reservation(world: World) -> None:
    turn, _ = began(world)
    found = turn_cost_for_insight(world.runtime, turn.id)
    assert [(call.state, call.ground) for call in found.calls] == [
        (CallState.RUNNING, Ground.RUNNING)
    ]
    assert (found.drawn_micro_usd, found.held_micro_usd, found.spent_micro_usd) == (100, 100, 0)
    assert (found.adds_up, found.complete) == (True, True)
    assert found.scopes == ("agent:mika", "installation", "session:s1")
    assert found.drawn == (Block(day="2026-02-17", micro_usd=100),)


def test_a_call_whose_worker_died_is_charged_in_full_and_says_so(world: World) -> None:
    turn, intent = began(world)
    settled(world, turn, ModelResult.with_unknown_outcome(intent), intent)
    found = turn_cost_for_insight(world.runtime, turn.id)
    assert found.calls[0].ground is Ground.UNKNOWN
    assert (found.spent_micro_usd, found.held_micro_usd, found.adds_up) == (30, 70, True)


def test_a_call_without_a_row_is_missed(world: World) -> None:
    turn, intent = began(world)
    result = ModelResult.with_unknown_outcome(intent)
    after = turn.with_cost(reserved=30, cost=30).replaced(sequence=3)
    change = TurnChange(turn=after, expected=turn.sequence, records=(result,), at=NOW)
    world.runtime.home.journal.commit(change)
    found = turn_cost_for_insight(world.runtime, turn.id)
    assert (found.adds_up, found.complete, found.calls) == (False, False, ())


def test_rows_of_other_turns_are_left_out(world: World) -> None:
    first, second = began(world), began(world)
    for turn, intent in (first, second):
        settled(world, turn, ModelResult.with_unknown_outcome(intent), intent)
    found = turn_cost_for_insight(world.runtime, first[0].id)
    assert [call.metrics_id for call in found.calls if first[0].id in (call.metrics_id or "")]
    assert len(found.calls) == 1


class Long:
    """`ports.usage.UsageLedger` in which many rows of other turns are younger."""

    def __init__(self, ledger: UsageLedger, others: int) -> None:
        self._ledger = ledger
        self._others = others

    def rows(self, agent_id: str, *, after: str | None = None, **asked: Any) -> Any:
        left = self._others if after is None else int(after.rpartition("-")[2]) - 1
        if not left:
            return self._ledger.rows(agent_id, **asked)
        younger = range(left, max(left - asked["limit"], 0), -1)
        return tuple(row(turn_id="t9", n=n) for n in younger)

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        return self._ledger.row(agent_id, row_id)

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        return self._ledger.judge(agent_id, row_id, judgement)

    def settle(self, agent_id: str, row_id: str, settlement: Settlement, **beside: Any) -> UsageRow:
        return self._ledger.settle(agent_id, row_id, settlement, **beside)

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        self._ledger.redact_evaluation(agent_id, row_id)


@pytest.mark.parametrize("others", [500, 10_500])
def test_a_long_turns_calls_are_found_behind_many_others(world: World, others: int) -> None:
    turn, intent = began(world)
    settled(world, turn, ModelResult.with_unknown_outcome(intent), intent)
    home = world.runtime.home
    world.runtime = replace(world.runtime, home=replace(home, usage=Long(home.usage, others)))
    found = turn_cost_for_insight(world.runtime, turn.id)
    assert (len(found.calls), found.complete, found.adds_up) == (1, True, True)


def test_a_report_begins_where_its_period_does(world: World) -> None:
    turn, intent = began(world)
    settled(world, turn, ModelResult.with_unknown_outcome(intent), intent)
    world.clock.advance(timedelta(hours=2).total_seconds())
    hour, day = (
        costs_for_insight(world.runtime, "mika", period, ())
        for period in (Period.LAST_HOUR, Period.LAST_DAY)
    )
    assert (hour.total.calls, day.total.calls) == (0, 1)
    assert hour.groups == {}


def test_a_report_says_since_when_single_calls_are_listed(world: World) -> None:
    turn, intent = began(world)
    settled(world, turn, ModelResult.with_unknown_outcome(intent), intent)
    world.clock.advance(timedelta(days=50).total_seconds())
    assert costs_for_insight(world.runtime, "mika", Period.ALL, ()).calls_listed_since is None
    world.rules(calls_kept=timedelta(days=40))
    found = costs_for_insight(world.runtime, "mika", Period.ALL, ())
    assert found.calls_listed_since == datetime(2026, 2, 27, tzinfo=UTC)
    assert found.total.calls == 1
    assert (
        costs_for_insight(world.runtime, "mika", Period.LAST_MONTH, ()).calls_listed_since is None
    )
    world.rules(calls_kept=timedelta(days=60))
    assert costs_for_insight(world.runtime, "mika", Period.ALL, ()).calls_listed_since is None
