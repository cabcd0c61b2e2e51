"""The models that config/ ships: every one has a price or runs at home, and the file is whole."""

from datetime import date
from functools import cache
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.catalogue.model_facts import listed_catalogue_facts
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.wire.address import checked_wire_base_url
from opencrab.domain.models.routing import CallOptions, Use
from opencrab.ports.models.model import ModelInfo
from tests.conftest import ROOT

LARGEST = 150_000


@cache
def configured() -> ModelsSettings:
    """Read once: nobody changes it, and reading takes longer than most tests."""
    everything = settings.load_settings({}, {}, secret=_given)
    return provider_catalogue_settings(
        everything.table("llm"), everything.pricing, listing=settings.public_prices_of_settings
    )


def _given(name: str) -> str:
    return "https://here.example" if name.endswith("ENDPOINT") else "k"


def network() -> Transport:
    raise AssertionError("nobody is asked")


def named() -> list[str]:
    found = configured()
    models = {found.default, *found.uses.values(), *found.aliases, *found.fallback}
    return sorted(models | {name for name, each in found.providers.items() if each.default_model})


@pytest.fixture(scope="module")
def models() -> ProviderModels:
    """What a machine with every key has."""
    return ProviderModels(configured, network)


@pytest.fixture(scope="module")
def infos(models: ProviderModels) -> dict[str, ModelInfo]:
    return {info.name: info for info in models.infos()}


@pytest.mark.parametrize("name", named())
def test_every_model_that_is_named_has_a_price(
    models: ProviderModels, infos: dict[str, ModelInfo], name: str
) -> None:
    found = configured()
    while name in found.aliases:
        name = found.aliases[name]
    if ":" not in name:
        name = f"{name}:{found.providers[name].default_model}"
    info = infos[name] if name in infos else models.embedder(name).info
    assert info.price is not None
    assert info.max_input_tokens >= 4_096


def test_the_seeds_choices_are_shipped() -> None:
    found = configured()
    assert set(found.uses) == set(Use)
    assert found.uses[Use.THINKING] == "anthropic:claude-opus-4.6"
    assert {"fast", "smart", "reasoning", "creative", "local", "cheap"} <= set(found.aliases)
    assert found.selectable == ("fast", "smart", "reasoning", "creative", "local", "cheap")
    seeds = ("openai", "anthropic", "openrouter", "ollama")
    assert tuple(each for each in found.fallback if each in seeds) == seeds
    others = {each.partition(":")[0] for each in found.fallback} - set(seeds)
    assert others == {"google", "xai", "deepseek", "mistral", "groq", "azure"}
    assert {"xai", "deepseek", "mistral", "groq", "vllm", "lmstudio", "azure"} <= set(
        found.providers
    )


def test_the_public_prices_are_whole_small_and_sorted() -> None:
    path = ROOT / "config" / "models.json"
    document: dict[str, Any] = dict(settings.public_prices_of_settings())
    names = list(document["models"])
    assert path.stat().st_size < LARGEST
    assert names == sorted(names)
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(names) + 2
    assert date.fromisoformat(document["as_of"]) >= date(2026, 11, 1)
    for name, entry in document["models"].items():
        facts = listed_catalogue_facts(entry, name, date.min)
        assert facts.price is not None, name
    providers = {name.partition(":")[0] for name in names}
    vendors = {"openai", "azure", "anthropic", "google", "bedrock", "openrouter", "deepseek", "xai"}
    vendors |= {"mistral", "groq"}
    assert providers == vendors


def test_anthropics_prices_know_both_kinds_of_cache() -> None:
    entries = settings.public_prices_of_settings()["models"]
    sonnet = entries["anthropic:claude-sonnet-4-5"]
    assert (sonnet["cache_write"], sonnet["cache_write_long"]) == (3.75, 6)
    assert sonnet["max_input_tokens"] == 200_000


def test_the_address_of_the_price_list_is_safe() -> None:
    url = settings.load_settings({}, {}).get("llm.prices_url")
    assert checked_wire_base_url(url, provider="prices_url").startswith("https://")


def test_the_files_defaults_are_the_codes_own() -> None:
    shipped = dict(configured().manners)
    assert shipped.pop(Use.EMBEDDING) == CallOptions()
    assert shipped == provider_catalogue_settings({}, {}).manners
