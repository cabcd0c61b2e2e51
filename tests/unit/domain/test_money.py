"""Money: whole micro-dollars, rounded up, and never more than was reserved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.money import FREE, INSTALLATION, Price, Usage, agent_scope

prices = st.builds(
    Price,
    input_per_million=st.integers(0, 10**9),
    output_per_million=st.integers(0, 10**9),
)
counts = st.integers(0, 10**7)


@given(price=prices, request_bytes=counts, output=counts, data=st.data())
def test_a_reservation_covers_any_usage_within_its_bounds(
    price: Price, request_bytes: int, output: int, data: st.DataObject
) -> None:
    usage = Usage(
        input_tokens=data.draw(st.integers(-5, request_bytes)),
        output_tokens=data.draw(st.integers(-5, output)),
    )
    reserved = price.reservation(request_bytes=request_bytes, max_output_tokens=output)
    assert 0 <= price.cost(usage) <= reserved


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


def test_a_model_on_the_owners_own_machine_costs_nothing() -> None:
    assert FREE.reservation(request_bytes=10**9, max_output_tokens=10**6) == 0


@pytest.mark.parametrize("amount", [-1, 0.5, float("nan")])
def test_a_price_is_a_whole_number_and_never_negative(amount: float) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate({"input_per_million": amount, "output_per_million": 0})


def test_no_agents_budget_is_the_installations() -> None:
    assert agent_scope(INSTALLATION) != INSTALLATION
    assert agent_scope("mika") != agent_scope("ken")
