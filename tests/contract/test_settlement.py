"""Settlement: an unconfirmed call gets its cost, once, and everything that counted it follows."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import BudgetDraw, Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.counters import usage_tally_of_call
from opencrab.domain.usage.ledger import Settlement, UsageRow
from opencrab.ports.home import Home
from tests.contract.example import DAY, NOW, fact, usage_row
from tests.contract.test_budgets import drawn
from tests.contract.test_tallies import found
from tests.contract.test_usage import write
from tests.contract.waiting import at_once

COUNTED = Usage(input_tokens=900, output_tokens=30, reported_micro_usd=700)
SCOPE = "agent:花"


def lost(n: int = 1, **changes: Any) -> UsageRow:
    """A call that broke off: perhaps billed, and counted by nobody."""
    facts: dict[str, Any] = {"state": CallState.FAILED, "fault": Fault.BROKEN_OFF, "usage": Usage()}
    return usage_row(n, **{**facts, "cost": 9_000, "provider_call_id": "gen-1", **changes})


def settlement(cost: int = 700, **changes: object) -> Settlement:
    told = Settlement(cost=cost, held=9_000, by="所有者", at=NOW + timedelta(days=1))
    return told.replaced(**changes)


def back(amount: int = 8_300, scope: str = SCOPE) -> BudgetDraw:
    return BudgetDraw(scope=scope, day=DAY, micro_usd=-amount, limit_micro_usd=None)


@pytest.mark.parametrize("usage", [None, COUNTED])
def test_a_settled_call_is_stored_and_counted_with_its_cost(
    home: Home, usage: Usage | None
) -> None:
    answered = usage_row(2, at=NOW + timedelta(seconds=1))
    write(home, lost(), answered)
    told = settlement(usage=usage)
    settled = home.usage.settle("hana", lost().id, told, draws=(back(),))
    assert settled == lost().replaced(cost=700, usage=usage or Usage(), settlement=told)
    assert home.usage.row("hana", settled.id) == settled
    assert settled.unconfirmed_micro_usd == 0
    assert drawn(home) == -8_300
    counted = {key: tally.counts for key, tally in found(home).items()}
    expected = usage_tally_of_call(settled) + usage_tally_of_call(answered)
    assert {k: {n: c for n, c in v.items() if c} for k, v in counted.items()} == {
        expected.key: expected.counts
    }
    (tally,) = found(home).values()
    assert tally.hours == expected.hours


def test_the_same_settlement_again_gives_nothing_back_twice(home: Home) -> None:
    write(home, lost())
    first = home.usage.settle("hana", lost().id, settlement(), draws=(back(),))
    again = home.usage.settle("hana", lost().id, settlement(by="ken"), draws=(back(),))
    assert again == first
    assert drawn(home) == -8_300
    with pytest.raises(Conflict, match="already settled at 700"):
        home.usage.settle("hana", lost().id, settlement(0), draws=(back(),))
    assert drawn(home) == -8_300


@pytest.mark.parametrize(
    "row",
    [
        usage_row(),
        lost(usage=Usage(input_tokens=1)),
        lost(cost=0),
        lost(state=CallState.COMPLETED),
    ],
)
def test_a_call_for_which_nothing_is_held_is_not_settled(home: Home, row: UsageRow) -> None:
    write(home, row)
    with pytest.raises(Conflict, match="nothing is held"):
        home.usage.settle("hana", row.id, settlement(), draws=(back(),))
    assert home.usage.row("hana", row.id) == row
    assert drawn(home) == 0


def test_a_call_that_is_not_there_is_not_settled(home: Home) -> None:
    write(home, lost())
    for agent_id, row_id in (("ken", lost().id), ("hana", lost(2).id), ("hana", "x")):
        with pytest.raises(NotFound):
            home.usage.settle(agent_id, row_id, settlement(), draws=(back(),))
    assert drawn(home) == 0


def test_a_document_is_written_with_it_or_neither_is(home: Home) -> None:
    write(home, lost())
    home.facts.commit(fact())
    stale = fact(text="古い")
    with pytest.raises(Changed):
        home.usage.settle("hana", lost().id, settlement(), draws=(back(),), facts=(stale,))
    assert home.usage.row("hana", lost().id) == lost()
    assert drawn(home) == 0
    newer = fact(text="新しい").replaced(version=2)
    home.usage.settle("hana", lost().id, settlement(), draws=(back(),), facts=(newer,))
    assert home.facts.get("hana", "note", "a") == newer


def test_of_two_settlements_at_once_one_counts(home: Home) -> None:
    write(home, lost())

    def settle(place: int) -> int | None:
        told = settlement(place * 100)
        draw = back(9_000 - place * 100)
        try:
            return home.usage.settle("hana", lost().id, told, draws=(draw,)).cost
        except Conflict:
            return None

    costs = [cost for cost in at_once(4, settle) if cost is not None]
    assert len(costs) == 1
    assert home.usage.row("hana", lost().id).cost == costs[0]
    assert drawn(home) == costs[0] - 9_000


def test_a_day_of_years_ago_is_counted_anew(home: Home) -> None:
    write(home, lost())
    (before,) = found(home).values()
    assert before.counts["unconfirmed"] == before.counts["cost"] == 9_000
    home.usage.settle("hana", lost().id, settlement(at=NOW + timedelta(days=1_000)))
    (after,) = found(home).values()
    assert (after.counts["cost"], after.counts["unconfirmed"]) == (700, 0)
