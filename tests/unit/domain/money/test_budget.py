"""Money: whole micro-dollars, rounded up, and never more than was reserved."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import (
    FREE,
    INSTALLATION,
    LIMITS,
    WHOLE,
    BudgetDraw,
    Limits,
    Price,
    Usage,
    agent_budget_scope,
    budget_exhausted_error,
    budget_limit_changes,
    heartbeat_budget_scope,
    public_budget_scope,
    session_budget_scope,
)

per_million = st.integers(0, 10**9)
perhaps = st.none() | per_million
prices = st.builds(
    Price,
    input_per_million=per_million,
    output_per_million=per_million,
    cached_per_million=perhaps,
    cache_write_per_million=perhaps,
    cache_write_long_per_million=perhaps,
)
counts = st.integers(0, 10**7)
any_counts = st.integers(-5, 10**7)
usages = st.builds(
    Usage,
    input_tokens=any_counts,
    output_tokens=any_counts,
    cached_tokens=any_counts,
    cache_write_tokens=any_counts,
    cache_write_long_tokens=any_counts,
    reasoning_tokens=any_counts,
)
DEAR = Price(
    input_per_million=3_000_000,
    output_per_million=15_000_000,
    cached_per_million=300_000,
    cache_write_per_million=3_750_000,
    cache_write_long_per_million=6_000_000,
)


@given(price=prices, request_tokens=counts, output=counts, usage=usages)
def test_a_reservation_covers_any_usage_within_its_bounds(
    price: Price, request_tokens: int, output: int, usage: Usage
) -> None:
    within = usage.replaced(
        input_tokens=min(usage.input_tokens, request_tokens),
        output_tokens=min(usage.output_tokens, output),
    )
    reserved = price.reservation(request_tokens=request_tokens, max_output_tokens=output)
    assert 0 <= price.cost(within) <= reserved


@given(price=prices, tokens_in=counts, tokens_out=counts)
def test_a_cost_is_exact_and_rounded_up(price: Price, tokens_in: int, tokens_out: int) -> None:
    exact = tokens_in * price.input_per_million + tokens_out * price.output_per_million
    cost = price.cost(Usage(input_tokens=tokens_in, output_tokens=tokens_out))
    assert (cost - 1) * 1_000_000 < exact <= cost * 1_000_000


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "cost"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1_000_000, 0, 150_000), (1, 1_000_000, 600_001)],
)
def test_a_part_of_a_micro_dollar_counts_as_one(tokens_in: int, tokens_out: int, cost: int) -> None:
    price = Price(input_per_million=150_000, output_per_million=600_000)
    assert price.cost(Usage(input_tokens=tokens_in, output_tokens=tokens_out)) == cost


def test_negative_counts_from_a_provider_earn_nothing() -> None:
    price = Price(input_per_million=1_000_000, output_per_million=1_000_000)
    assert price.cost(Usage(input_tokens=-100, output_tokens=3)) == 3
    assert price.cost(Usage(input_tokens=2, cached_tokens=-100, cache_write_tokens=-1)) == 2
    assert price.cost(Usage(reported_micro_usd=-7)) == 0


def test_each_kind_of_input_has_its_price() -> None:
    usage = Usage(
        input_tokens=10_000,
        output_tokens=100,
        cached_tokens=6_000,
        cache_write_tokens=2_000,
        cache_write_long_tokens=1_000,
        reasoning_tokens=40,
    )
    assert [(one.kind, one.tokens, one.micro_usd) for one in DEAR.shares(usage)] == [
        ("input", 1_000, 3_000),
        ("cached", 6_000, 1_800),
        ("cache_write", 2_000, 7_500),
        ("cache_write_long", 1_000, 6_000),
        ("output", 100, 1_500),
    ]
    assert DEAR.cost(usage) == 19_800


def test_a_cache_without_a_price_costs_what_input_costs() -> None:
    price = Price(input_per_million=2_000_000, output_per_million=0)
    assert price.cost(Usage(input_tokens=10, cached_tokens=4, cache_write_long_tokens=3)) == 20
    free_reads = price.replaced(cached_per_million=0)
    assert free_reads.cost(Usage(input_tokens=10, cached_tokens=4)) == 12


@given(price=prices, usage=usages)
def test_shares_explain_a_cost_but_for_what_is_rounded(price: Price, usage: Usage) -> None:
    shares = price.shares(usage)
    of_input = sum(share.tokens for share in shares if share.kind != "output")
    assert of_input == max(usage.input_tokens, 0), "no token counts twice"
    assert all(share.tokens > 0 and share.micro_usd >= 0 for share in shares)
    explained = sum(share.micro_usd for share in shares)
    assert explained <= price.cost(usage) <= explained + len(shares)


@given(price=prices, usage=usages, told=st.integers(0, 10**9))
def test_what_the_vendor_says_that_a_call_cost_counts(
    price: Price, usage: Usage, told: int
) -> None:
    assert price.cost(usage.replaced(reported_micro_usd=told)) == told


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (Usage(), False),
        (Usage(cached_tokens=9), False),
        (Usage(input_tokens=1), True),
        (Usage(output_tokens=1), True),
        (Usage(reported_micro_usd=0), True),
        (Usage(input_tokens=-1, output_tokens=-1), False),
    ],
)
def test_usage_counts_when_a_cost_can_be_made_of_it(usage: Usage, *, counted: bool) -> None:
    assert usage.is_counted is counted


@pytest.mark.parametrize("kind", ["input", "cached", "cache_write", "cache_write_long"])
def test_a_reservation_is_made_at_the_dearest_price_of_input(kind: str) -> None:
    price = Price.model_validate(
        {"input_per_million": 1, "output_per_million": 0, f"{kind}_per_million": 9_000_000}
    )
    assert price.reservation(request_tokens=10, max_output_tokens=10) == 90


def test_a_model_on_the_owners_own_machine_costs_nothing() -> None:
    assert FREE.reservation(request_tokens=10**9, max_output_tokens=10**6) == 0


@pytest.mark.parametrize("amount", [-1, 0.5, float("nan"), 10**13])
@pytest.mark.parametrize("kind", ["input_per_million", "cached_per_million"])
def test_a_price_is_a_whole_number_and_never_negative(kind: str, amount: float) -> None:
    price = {"input_per_million": 0, "output_per_million": 0}
    with pytest.raises(ValidationError):
        Price.model_validate(price | {kind: amount})


@pytest.mark.parametrize(
    "wrong",
    [
        {"turn_micro_usd": -1},
        {"session_micro_usd": -1},
        {"installation_day_micro_usd": 10**13},
        {"heartbeat_percent": 101},
        {"heartbeat_percent": -1},
        {"public_user_day_micro_usd": 0.5},
        {"block_micro_usd": 0},
        {"agent_day_micro_usd": float("nan")},
        {"week_micro_usd": 1},
    ],
)
def test_limits_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(wrong)


def test_a_session_of_no_limit_is_none() -> None:
    assert Limits(session_micro_usd=0) == Limits()
    assert Limits.model_validate_json('{"session_micro_usd":0}').session_micro_usd is None
    assert Limits(session_micro_usd=1).session_micro_usd == 1


def test_limits_that_were_not_changed_are_the_configured_ones() -> None:
    configured = Limits(turn_micro_usd=5, session_micro_usd=6)
    assert configured.changed({}) == configured
    changed = configured.changed({"session_micro_usd": 0, "block_micro_usd": 9})
    assert changed == Limits(turn_micro_usd=5, block_micro_usd=9)


def test_a_limit_of_another_version_is_left_out() -> None:
    assert Limits().changed({"century_micro_usd": -5, "turn_micro_usd": 3}) == Limits(
        turn_micro_usd=3
    )


@given(
    changes=st.dictionaries(
        st.sampled_from(LIMITS) | st.text(max_size=5),
        st.none() | st.integers() | st.booleans() | st.floats() | st.text(max_size=5),
    )
)
def test_what_is_stored_of_limits_is_never_refused_later(changes: dict[str, Any]) -> None:
    try:
        stored = budget_limit_changes(changes)
    except Invalid:
        return
    assert stored.keys() == changes.keys()
    kept = {name: limit for name, limit in stored.items() if limit is not None}
    assert all(type(limit) is int for limit in kept.values())
    after = dict(Limits().changed(kept))
    assert all((after[name] or 0) == limit for name, limit in kept.items())


def test_a_limit_that_cannot_be_is_named() -> None:
    for wrong in ({"week_micro_usd": 1}, {"block_micro_usd": 0}):
        with pytest.raises(Invalid) as caught:
            budget_limit_changes({"turn_micro_usd": 1, **wrong})
        assert caught.value.field in wrong
        assert caught.value.cure


@pytest.mark.parametrize(
    ("name", "unit"), [("turn_micro_usd", "micro-dollars"), ("heartbeat_percent", "percent")]
)
def test_a_limit_that_cannot_be_is_answered_with_its_unit(name: str, unit: str) -> None:
    with pytest.raises(Invalid) as caught:
        budget_limit_changes({name: -1})
    assert unit in (caught.value.cure or "")
    assert "null" in (caught.value.cure or "")


def test_no_ones_budget_is_anothers() -> None:
    scopes = [scope(name) for scope in SCOPES for name in ("mika", INSTALLATION, "agent:mika")]
    assert len({INSTALLATION, *scopes}) == 1 + len(scopes)


SCOPES = (agent_budget_scope, session_budget_scope, heartbeat_budget_scope, public_budget_scope)


def test_a_refusal_says_whether_a_new_day_helps() -> None:
    draw = BudgetDraw(scope="agent:花", day="2026-02-17", micro_usd=5, limit_micro_usd=3)
    refused = budget_exhausted_error(draw)
    assert refused.message == (
        "the budget of 'agent:花' for 2026-02-17 (3 micro-dollars) is used up"
    )
    assert (refused.field, "next day" in (refused.cure or "")) == ("agent:花", True)
    whole = budget_exhausted_error(draw.replaced(scope="session:s1", day=WHOLE))
    assert whole.message == "the budget of 'session:s1' (3 micro-dollars) is used up"
    assert "next day" not in (whole.cure or "")
