"""Ledgers replayed with other models: the same tokens, each day's price, and what stays unknown."""

from datetime import date, timedelta
from typing import Any

from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE, Price, Usage
from opencrab.domain.turn.record import CallState
from opencrab.engine.insight.what_if import (
    AliasChange,
    ReplayedLedger,
    compute_what_if_costs,
)
from tests.contract.example import NOW, usage_row

OTHER = Price(input_per_million=2_000_000, output_per_million=8_000_000, cached_per_million=500_000)
TOKENS = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=400)
DEAR: dict[str, Any] = {"provider": "openai", "model": "dear", "task_type": "code"}


def ledger(*rows: dict[str, Any], price: Price = OTHER) -> ReplayedLedger:
    meant = AliasChange(alias="smart", model="openai:dear", other="openai:cheap", price=price)
    later = NOW.date() + timedelta(days=1)

    def on(name: str, day: date) -> Price:
        assert name == "openai:cheap"
        return FREE if day >= later else price

    made = (usage_row(**{**DEAR, "cost": 9_000, "usage": TOKENS, **row}) for row in rows)
    return compute_what_if_costs(made, [meant], on)


def test_the_same_tokens_are_priced_as_the_other_model_prices_them_on_that_day() -> None:
    reported = TOKENS.replaced(reported_micro_usd=77_000)
    found = ledger({}, {"usage": reported}, {"at": NOW + timedelta(days=1)})
    (of,) = found.sums.values()
    each = (600 * 2_000_000 + 400 * 500_000 + 100 * 8_000_000) // 1_000_000
    assert (found.calls, found.cost) == (3, 27_000)
    assert (of.calls, of.cost, of.other_cost, of.uncounted) == (3, 27_000, 2 * each, 0)


def test_calls_of_other_models_stay_and_purposes_are_told_apart() -> None:
    found = ledger({}, {"purpose": Use.ANALYSIS}, {"model": "kept"})
    assert (found.calls, found.cost, len(found.sums)) == (3, 27_000, 2)
    assert {key[2] for key in found.sums} == {"openai:dear"}


def test_a_call_of_which_nobody_knows_the_tokens_costs_what_it_did() -> None:
    found = ledger(
        {"usage": Usage(), "state": CallState.UNKNOWN, "latency_ms": None},
        {"usage": Usage(), "state": CallState.FAILED, "cost": 0},
    )
    (of,) = found.sums.values()
    assert (of.calls, of.cost, of.other_cost, of.uncounted) == (2, 9_000, 9_000, 1)
