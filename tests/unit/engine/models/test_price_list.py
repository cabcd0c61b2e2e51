"""Prices of a night: taken over with the day on which they were read, and known for days before."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

import pytest

from opencrab import settings
from opencrab.bootstrap.aws.deployed_models import models_of_lambda
from opencrab.bootstrap.prices import configured_nightly_price_update
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.models.price_check import NewPrices, classify_model_prices
from opencrab.domain.money.budget import Price
from opencrab.engine.models.preferences import change_model_price_preferences
from opencrab.engine.models.price_list import (
    PRICE_ROW,
    model_price_on_day,
    update_public_model_prices,
)
from tests.contract.example import NOW
from tests.unit.engine.known_world import World

YEARS = timedelta(days=1_000)
"""From the tests' day until one that is newer than the list in config/models.json."""

TODAY = (NOW + YEARS).date()
NAME, OTHER = "openai:gpt-4o", "openai:gpt-4o-mini"
LONG_AGO = date(2024, 1, 1)


def _configured(
    overrides: dict[str, object], *, secret: Callable[[str], str | None]
) -> settings.Settings:
    return settings.load_settings(overrides, {}, secret=secret)


@pytest.fixture
def priced(world: World) -> World:
    """A world with the models and prices of the configuration, whatever keys there are."""
    world.clock.advance(YEARS.total_seconds())
    stored, clock = world.runtime.home.preferences.get, world.clock
    models = models_of_lambda(None, stored, clock.now, load=_configured)
    world.runtime = replace(world.runtime, models=models, directory=models)
    return world


def listing(day: date, **prices: Price) -> "Listing":
    return Listing({f"openai:{name.replace('_', '-')}": each for name, each in prices.items()}, day)


class Listing:
    """A public list of a day."""

    def __init__(self, prices: Mapping[str, Price], day: date) -> None:
        self._found = {name: DatedPrice(price=each, as_of=day) for name, each in prices.items()}

    def __call__(
        self, known: Mapping[str, Price | None], limits: Mapping[str, int], /
    ) -> NewPrices:
        assert known.keys() == limits.keys() >= self._found.keys()
        new = {name: each for name, each in self._found.items() if each.price != known[name]}
        return classify_model_prices(new, known, allow_lower=False)


def raised(price: Price | None, percent: int) -> Price:
    assert price is not None
    parts = ("input_per_million", "output_per_million")
    return price.replaced(**{each: getattr(price, each) * percent // 100 for each in parts})


def price(world: World, name: str) -> Price | None:
    directory = world.runtime.directory
    assert directory is not None
    return directory.price(name)


def rows(world: World) -> int:
    return len(world.runtime.home.facts.page(INSTALLATION_FACTS, PRICE_ROW))


def test_a_days_price_is_known_when_others_came_after_it(priced: World) -> None:
    runtime, facts = priced.runtime, priced.runtime.home.facts
    first, cheap = price(priced, NAME), price(priced, OTHER)
    dearer, dearest = raised(first, 120), raised(first, 150)
    assert model_price_on_day(facts, NAME, TODAY, now=first) == first, "nothing ever changed"
    assert update_public_model_prices(runtime, listing(TODAY, gpt_4o=dearer)) == (1, {})
    charged = price(priced, NAME)
    assert charged != first
    priced.clock.advance(3 * 86_400)
    later = TODAY + timedelta(days=3)
    assert (
        update_public_model_prices(runtime, listing(later, gpt_4o=dearest, gpt_4o_mini=dearest))[0]
        == 2
    )
    last = price(priced, NAME)
    for day, cost in ((-1, first), (0, charged), (2, charged), (3, last), (30, last)):
        found = model_price_on_day(facts, NAME, TODAY + timedelta(days=day), now=last)
        assert found == cost, day
    assert model_price_on_day(facts, OTHER, LONG_AGO, now=None) == cheap
    assert rows(priced) == 3


def test_the_same_list_again_writes_nothing(priced: World) -> None:
    new = raised(price(priced, NAME), 110)
    assert update_public_model_prices(priced.runtime, listing(TODAY, gpt_4o=new))[0] == 1
    version = priced.runtime.home.preferences.get().version
    assert update_public_model_prices(priced.runtime, listing(TODAY, gpt_4o=new)) == (0, {})
    assert priced.runtime.home.preferences.get().version == version
    assert rows(priced) == 1


def test_a_price_that_falls_far_stays_and_is_told(priced: World) -> None:
    before = price(priced, NAME)
    taken, refused = update_public_model_prices(
        priced.runtime, listing(TODAY, gpt_4o=raised(before, 1))
    )
    assert (taken, set(refused)) == (0, {NAME})
    assert price(priced, NAME) == before
    assert rows(priced) == 0


def test_a_change_by_hand_gets_its_row_with_the_next_night(priced: World) -> None:
    before = price(priced, NAME)
    new = raised(before, 130)
    change_model_price_preferences(priced.runtime, {NAME: DatedPrice(price=new, as_of=TODAY)})
    other = raised(price(priced, OTHER), 130)
    update_public_model_prices(priced.runtime, listing(TODAY, gpt_4o_mini=other))
    assert (
        model_price_on_day(priced.runtime.home.facts, NAME, TODAY, now=None)
        == price(priced, NAME)
        != before
    )
    assert rows(priced) == 2


@pytest.mark.parametrize("error", [Unavailable("no list"), Invalid("no address")], ids=str)
def test_without_a_list_nothing_changes(priced: World, error: Exception) -> None:
    def fetch(_known: Mapping[str, Price | None], _limits: Mapping[str, int], /) -> NewPrices:
        raise error

    with pytest.raises(type(error)):
        update_public_model_prices(priced.runtime, fetch)
    assert priced.runtime.home.preferences.get().version == 0


def test_an_installation_that_names_no_list_asks_nobody(priced: World) -> None:
    quiet = settings.load_settings({"llm.prices_url": ""}, {})
    assert (
        configured_nightly_price_update(quiet, lambda: pytest.fail("nobody is asked"))(
            priced.runtime
        )
        == 0
    )
