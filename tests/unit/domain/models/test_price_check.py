"""New prices: what falls far is refused, and what looks like another unit is seen."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.models.price_check import (
    are_prices_of_models_per_token,
    classify_model_prices,
    higher_model_price,
    price_falls_far,
)
from opencrab.domain.money.budget import FREE, Price

AMOUNTS = st.integers(0, 10**8)
PRICES = st.builds(
    Price,
    input_per_million=AMOUNTS,
    output_per_million=AMOUNTS,
    cached_per_million=st.none() | AMOUNTS,
    cache_write_per_million=st.none() | AMOUNTS,
)


def price(input_usd: float, output_usd: float, cached: float | None = None) -> Price:
    return Price(
        input_per_million=int(input_usd * 1_000_000),
        output_per_million=int(output_usd * 1_000_000),
        cached_per_million=None if cached is None else int(cached * 1_000_000),
    )


@pytest.mark.parametrize(
    ("old", "new", "far"),
    [
        (price(2, 8), price(1, 4), False),
        (price(2, 8), price(0.99, 8), True),
        (price(2, 8), price(3, 3.9), True),
        (price(2, 8), FREE, True),
        (price(2, 0), price(2, 0), False),
        (FREE, FREE, False),
        (None, price(0.001, 0), False),
        (None, FREE, True),
        (price(2, 8), price(2, 8, 0.2), False),
        (price(2, 8), price(2, 8, 0), True),
        (price(2, 8, 0.5), price(2, 8, 0.2), True),
        (price(2, 8, 0.5), price(2, 8), False),
    ],
)
def test_half_of_a_price_is_as_far_as_it_falls_unasked(
    old: Price | None,
    new: Price,
    far: bool,  # noqa: FBT001
) -> None:
    assert price_falls_far(old, new) is far
    found = {"openai:蟹": DatedPrice(price=new, as_of=date(2026, 1, 1))}
    kept = classify_model_prices(found, {"openai:蟹": old}, allow_lower=False)
    assert (set(kept.refused), set(kept.taken)) == (
        (set(found), set()) if far else (set(), set(found))
    )
    assert set(classify_model_prices(found, {"openai:蟹": old}, allow_lower=True).taken) == set(
        found
    )


@given(PRICES, PRICES)
def test_the_dearer_of_two_never_lowers_a_part(one: Price, other: Price) -> None:
    both = higher_model_price(one, other)
    assert both == higher_model_price(other, one)
    assert not price_falls_far(one, both)
    assert both.dearest_input_per_million >= one.dearest_input_per_million
    assert both.output_per_million >= other.output_per_million


@pytest.mark.parametrize(
    ("pairs", "is_it"),
    [
        ([], False),
        ([(price(2, 8), price(0.000002, 0.000008))], True),
        ([(price(2, 8), price(0.000002, 0.000008)), (price(0.05, 0.1), price(0.05, 0.1))], True),
        ([(price(2, 8), price(0.000002, 0.000008)), (price(1, 1), price(1, 1))], False),
        ([(price(0.05, 0.08), price(0.005, 0.008))], False),
    ],
)
def test_prices_of_single_tokens_are_seen_when_all_look_so(
    pairs: list[tuple[Price, Price]],
    is_it: bool,  # noqa: FBT001
) -> None:
    assert are_prices_of_models_per_token(pairs) is is_it
