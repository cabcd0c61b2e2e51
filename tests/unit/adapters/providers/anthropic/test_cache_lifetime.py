"""The lifetime of prompt caches is the one that costs less at an agent's cadence."""

import pytest

from opencrab.adapters.providers.anthropic.cache_lifetime import (
    LONG_SECONDS,
    SHORT_SECONDS,
    anthropic_cache_marks,
    is_long_anthropic_cache_cheaper,
)
from opencrab.domain.money.budget import Price

PRICE = Price(
    input_per_million=5_000_000,
    output_per_million=25_000_000,
    cached_per_million=500_000,
    cache_write_per_million=6_250_000,
    cache_write_long_per_million=10_000_000,
)
DEAR = PRICE.replaced(cache_write_long_per_million=12_500_000)
USES = 20


def bill(price: Price, gap: float, *, long: bool) -> int:
    """What a million prompt tokens cost that are used so often, by Anthropic's rules."""
    lifetime = LONG_SECONDS if long else SHORT_SECONDS
    write = price.cache_write_long_per_million if long else price.cache_write_per_million
    assert write is not None
    assert price.cached_per_million is not None
    again = price.cached_per_million if gap <= lifetime else write
    return write + (USES - 1) * again


@pytest.mark.parametrize("gap", [1, 61, 299, 300, 301, 601, 1_201, 3_001, 3_600, 3_601, 86_400])
def test_the_cheaper_lifetime_is_chosen(gap: float) -> None:
    long = bill(PRICE, gap, long=True) < bill(PRICE, gap, long=False)
    assert is_long_anthropic_cache_cheaper(PRICE, gap) is long
    fixed, history = anthropic_cache_marks(PRICE, gap)
    assert fixed == history == {"type": "ephemeral", "ttl": "1h" if long else "5m"}


def test_an_agent_that_wakes_every_ten_minutes_saves_nine_tenths() -> None:
    assert bill(PRICE, 601, long=True) / bill(PRICE, 601, long=False) < 0.16


def test_a_long_write_that_costs_as_much_as_two_short_ones_is_not_bought() -> None:
    assert not is_long_anthropic_cache_cheaper(DEAR, 601)


def test_without_a_cadence_the_fixed_part_lasts_longer_than_the_history() -> None:
    fixed, history = anthropic_cache_marks(PRICE, None)
    assert (fixed["ttl"], history["ttl"]) == ("1h", "5m")
