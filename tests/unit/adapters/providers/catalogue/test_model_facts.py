"""Facts of models: two lists on top of each other, newer prices, and every spelling of a name."""

from datetime import date
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.model_facts import (
    ModelFacts,
    ModelSettings,
    catalogue_facts,
    catalogue_facts_of_provider,
    catalogue_facts_of_similar_models,
    listed_catalogue_facts,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.money.budget import Price

LISTED = {
    "as_of": "2026-03-01",
    "models": {
        "anthropic:claude-opus-4-6": {"input": 5, "output": 25, "cache_write": 6.25, "context": 9},
        "openai:gpt-5.2": {"input": 1.75, "output": 14, "also": ["gpt-5.2-2025-12-11"]},
        "google:gemini-x": {"input": 2, "output": 12, "context": 100, "max_input_tokens": 20},
    },
}


def facts(
    own: dict[str, Any] | None = None, dated: dict[str, DatedPrice] | None = None
) -> ModelFacts:
    return ModelFacts(catalogue_facts(own or {}), lambda: LISTED, dated or {})


def price(input_usd: int, output_usd: int) -> Price:
    return Price(input_per_million=input_usd * 1_000_000, output_per_million=output_usd * 1_000_000)


@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-opus-4.6",
        "anthropic:claude-opus-4-6",
        "anthropic:claude-opus-4-6-20260205",
    ],
)
def test_anthropics_models_are_known_with_dots_dashes_and_dates(name: str) -> None:
    found = facts().settings_for(name)
    assert found.price is not None
    assert found.price.cache_write_per_million == 6_250_000
    assert found.max_input_tokens == 9


def test_a_model_is_known_by_its_other_names_at_its_own_provider_only() -> None:
    assert facts().settings_for("openai:gpt-5.2-2025-12-11").price is not None
    assert facts().settings_for("azure:gpt-5.2-2025-12-11").price is None
    assert facts().settings_for("azure:x", "openai:gpt-5.2").price is not None


def test_a_price_that_rises_comes_with_the_limit_that_keeps_it_true() -> None:
    found = facts().settings_for("google:gemini-x")
    assert (found.max_input_tokens, found.max_total_tokens) == (20, 100)
    assert "20" in found.notes[0]


def test_our_own_list_wins_part_by_part() -> None:
    own = {
        "as_of": date(2026, 2, 1),
        "models": {
            "openai": {"gpt-5.2": {"cached": 0.5, "max_input_tokens": 7, "temperature": False}},
            "google": {"gemini-x": {"input": 1, "output": 1}},
        },
    }
    gpt = facts(own).settings_for("openai:gpt-5.2")
    assert gpt.price is not None
    assert (gpt.price.input_per_million, gpt.price.cached_per_million) == (1_750_000, 500_000)
    assert (gpt.max_input_tokens, gpt.temperature) == (7, False)
    assert facts(own).settings_for("google:gemini-x").price == price(1, 1)


@pytest.mark.parametrize(("day", "wins"), [(1, False), (2, True)])
def test_a_fetched_price_wins_over_older_data_only(day: int, *, wins: bool) -> None:
    newer = DatedPrice(price=price(1, 2), as_of=date(2026, 3, day))
    found = facts(dated={"openai:gpt-5.2": newer}).settings_for("openai:gpt-5.2").price
    assert (found == price(1, 2)) is wins


def test_a_fetched_price_makes_an_unknown_one_known() -> None:
    newer = DatedPrice(price=price(1, 2), as_of=date(2026, 1, 1))
    assert facts(dated={"xai:new": newer}).settings_for("xai:new").price == price(1, 2)


@pytest.mark.parametrize("usd", [-1, "free", "NaN", "Infinity", None, [], True, 10_001, "−1"])
def test_what_is_no_price_is_invalid_and_names_the_place(usd: Any) -> None:
    table = {"models": {"p": {"m": {"input": 1, "output": 1, "cached": usd}}}}
    if usd is None:
        table["models"]["p"]["m"]["input"] = usd
    with pytest.raises(Invalid, match=r"models\.p\.m"):
        catalogue_facts(table)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_output_tokens", 0), ("max_output_tokens", -1), ("max_input_tokens", "many"),
        ("max_total_tokens", 1.5), ("max_input_tokens", True), ("image_tokens", -1),
        ("hidden_tokens", 10**9), ("vision", "maybe"), ("functions", 1), ("inptu", 1),
    ],
)  # fmt: skip
def test_a_fact_that_is_none_is_invalid_and_named(key: str, value: Any) -> None:
    with pytest.raises(Invalid) as caught:
        catalogue_facts({"models": {"p": {"m": {key: value}}}})
    assert caught.value.field == f"models.p.m.{key}"
    assert caught.value.cure


@pytest.mark.parametrize("entry", [[], {"inputs": 1}, {"input": -1, "output": 1}, {"context": 0}])
def test_a_line_of_the_public_list_that_is_none_is_invalid(entry: Any) -> None:
    with pytest.raises(Invalid, match=r"models\.json: p:m"):
        listed_catalogue_facts(entry, "models.json: p:m", date.min)


def test_a_date_that_is_none_is_invalid() -> None:
    with pytest.raises(Invalid, match="as_of"):
        catalogue_facts({"as_of": "昨日"})


def test_vendors_say_what_holds_for_all_their_models() -> None:
    vendors = catalogue_facts_of_provider(
        {"vendors": {"anthropic": {"hidden_tokens": 1_000, "vision": True}}}
    )
    found = ModelSettings(vision=False).with_defaults(vendors["anthropic"])
    assert (found.hidden_tokens, found.vision) == (1_000, False)


PIN = {"as_of": date(2026, 1, 1), "models": {"openai": {"gpt-5.2": {"input": 3, "output": 9}}}}


@pytest.mark.parametrize(
    ("fetched", "holds"),
    [((1, 2), (3, 9)), ((4, 2), (4, 9)), ((0, 0), (3, 9)), ((4, 10), (4, 10))],
)
def test_a_price_that_the_owner_wrote_is_only_raised_by_a_list(
    fetched: tuple[int, int], holds: tuple[int, int]
) -> None:
    newer = DatedPrice(price=price(*fetched), as_of=date(2026, 9, 9))
    assert facts(PIN, {"openai:gpt-5.2": newer}).settings_for("openai:gpt-5.2").price == price(
        *holds
    )


@pytest.mark.parametrize("written", ["claude-opus-4.6", "claude-opus-4-6"])
@pytest.mark.parametrize(
    "asked", ["claude-opus-4.6", "claude-opus-4-6", "claude-opus-4-6-20260205"]
)
@pytest.mark.parametrize("provider", ["anthropic", "mine"])
def test_own_and_fetched_facts_are_known_in_every_spelling(
    written: str, asked: str, provider: str
) -> None:
    own = {"models": {provider: {written: {"max_output_tokens": 7}}}}
    newer = {f"{provider}:{written}": DatedPrice(price=price(9, 99), as_of=date(2026, 9, 9))}
    found = facts(own, newer).settings_for(f"{provider}:{asked}")
    assert (found.max_output_tokens, found.price) == (7, price(9, 99))


def test_of_two_spellings_the_one_that_is_asked_for_wins() -> None:
    both = {"claude-a-4.6": {"max_output_tokens": 1}, "claude-a-4-6": {"max_output_tokens": 2}}
    known = facts({"models": {"anthropic": both}})
    assert known.settings_for("anthropic:claude-a-4.6").max_output_tokens == 1
    assert known.settings_for("anthropic:claude-a-4-6").max_output_tokens == 2


@pytest.mark.parametrize(
    ("families", "field"),
    [
        ({"names": ["x"]}, "families"),
        ([{"stop": False}], "families.0.names"),
        ([{"names": "grok"}], "families.0.names"),
        ([{"names": ["x"], "stop": "maybe"}], "families.0.stop"),
        ([{"names": ["x"]}, {"names": ["y"], "stpo": True}], "families.1.stpo"),
        ([5], "families.0"),
    ],
)
def test_a_family_that_is_none_is_invalid_and_named(families: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        catalogue_facts_of_similar_models({"families": families})
    assert caught.value.field == field
    assert caught.value.cure
