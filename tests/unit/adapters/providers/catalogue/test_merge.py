"""Preferences on top of the configuration, and who of all can be asked."""

import logging
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.merge import (
    apply_catalogue_provider_change,
    merge_catalogue_preferences,
)
from opencrab.domain.access.origin import browser_origin_of_url, key_origin_seal
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import DatedPrice, Preferences, ProviderChange
from opencrab.domain.models.routing import Use
from tests.unit.adapters.providers.installed import (
    PRICE,
    SETTINGS,
    Shelf,
    models_and_transport,
)


def test_routing_names_only_who_can_be_asked() -> None:
    settings = replace(
        SETTINGS,
        default="absent:x",
        uses={Use.THINKING: "anthropic:c", Use.CREATIVE: "absent:y", Use.ANALYSIS: "off:z"},
        fallback=("absent:x", "off:x", "速い", "openai", "nobody", "円"),
        selectable=("速い", "gone"),
    )
    routing = models_and_transport(settings)[0].routing
    assert routing.default == "openai:gpt-4o"
    assert routing.uses == {Use.THINKING: "anthropic:c"}
    assert routing.fallback == ("速い", "openai")
    assert routing.selectable == ("速い",)


def test_any_provider_with_a_key_and_a_model_answers_where_the_chain_has_none() -> None:
    models, _ = models_and_transport(replace(SETTINGS, default="absent:x", fallback=("速い",)))
    assert models.routing.default == "openai:gpt-4o"
    assert models.routing.fallback == ("速い",)


def test_where_nobody_has_a_key_the_default_stays_and_is_missed() -> None:
    names = ("absent", "ollama")
    bare = {name: SETTINGS.providers[name] for name in names}
    models, _ = models_and_transport(
        replace(SETTINGS, default="absent:x", fallback=("速い",), providers=bare)
    )
    assert models.routing.default == "absent:x"
    with pytest.raises(Invalid, match="ABSENT_KEY"):
        models.get(None)


@pytest.mark.parametrize(
    ("preferences", "works", "broken"),
    [
        ({"aliases": {"a": "b", "b": "a", "good": "ollama:x"}}, "good", "a"),
        ({"aliases": {"lost": "nobody:x", "good": "ollama:x"}}, "good", "lost"),
        ({"fallback": ("nobody", "openai")}, "openai", "nobody"),
        ({"providers": {"ollama": {"base_url": "http://169.254.169.254"}}}, "openai", "速い"),
        ({"providers": {"nobody": {"enabled": True}}}, "openai", "nobody"),
    ],
)
def test_broken_preferences_take_nobody_else_down(
    preferences: dict[str, Any], works: str, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    models = Shelf(**preferences).models()
    assert models.get(works).info.name
    with pytest.raises(Invalid), caplog.at_level(logging.ERROR):
        models.get(broken)


def test_an_owner_changes_where_a_provider_is_and_whether_it_is_private() -> None:
    change = ProviderChange(base_url="https://ollama.example", private=True)
    models = Shelf(providers={"ollama": change}).models()
    state = {each.name: each for each in models.providers()}["ollama"]
    assert (state.base_url, state.private) == ("https://ollama.example", True)
    assert models.get("速い").info.private


def test_a_fetched_price_is_taken_over() -> None:
    dated = DatedPrice(price=PRICE, as_of=date(2026, 11, 20))
    models = Shelf(prices={"openai:brand-new": dated}).models()
    assert models.get("openai:brand-new").info.price == PRICE


@pytest.mark.parametrize(
    ("preferences", "field"),
    [
        ({"aliases": {"a": "b", "b": "a"}}, "aliases.a"),
        ({"aliases": {"a": "nobody:x"}}, "aliases.a"),
        ({"fallback": ("openai", "openai")}, "fallback"),
        ({"providers": {"nobody": {}}}, "providers.nobody"),
        (
            {"providers": {"ollama": {"base_url": "http://open.example"}}},
            "llm.providers.ollama.base_url",
        ),
    ],
)
def test_preferences_are_checked_before_they_are_kept(
    preferences: dict[str, Any], field: str
) -> None:
    models = Shelf().models(lambda: replace(SETTINGS, aliases={}))
    models.check(Preferences(aliases={"x": "ollama:y"}, fallback=("x", "openai")))
    with pytest.raises(Invalid) as caught:
        models.check(Preferences(**preferences))
    assert caught.value.field == field
    assert caught.value.cure


def test_an_address_that_is_given_is_not_missing_any_more() -> None:
    azure = ProviderSettings(
        "azure", "azure", api_key="k", key_name="AZURE_KEY", missing="AZURE_ENDPOINT"
    )
    url = "https://n.openai.azure.com"
    origin = browser_origin_of_url(url)
    change = {
        "azure": ProviderChange(
            base_url=url, key_origin=origin, key_seal=key_origin_seal(origin, "k")
        )
    }
    models = Shelf(providers=change).models(lambda: SETTINGS.with_provider(azure))
    assert models.get("azure:mine").info.name == "azure:mine"
    unsaid = {"azure": ProviderChange(base_url=url)}
    models = Shelf(providers=unsaid).models(lambda: SETTINGS.with_provider(azure))
    with pytest.raises(Invalid, match="AZURE_KEY"):
        models.get("azure:mine")
    keyless = replace(azure, api_key="", missing="AZURE_KEY")
    models = Shelf(providers=change).models(lambda: SETTINGS.with_provider(keyless))
    with pytest.raises(Invalid, match="AZURE_KEY"):
        models.get("azure:mine")


OLD, NEW = "https://api.openai.com/v1", "https://new.example/v1"


def moved(key: str = "sk-old", **change: Any) -> ProviderSettings:
    """The provider after its owner changed it, with whatever key is kept by now."""
    provider = ProviderSettings("openai", "openai", api_key=key, key_name="OPENAI_API_KEY")
    return apply_catalogue_provider_change(provider, ProviderChange(**change))


@pytest.mark.parametrize("url", [NEW, "https://api.openai.com:8443/v1", "http://localhost/v1"])
def test_a_key_does_not_follow_its_provider_to_another_origin(url: str) -> None:
    there = moved(base_url=url)
    assert (there.api_key, there.base_url, there.problem) == ("", url, "")


@pytest.mark.parametrize("url", ["https://API.openai.com:443/v2", "https://api.openai.com./v1"])
def test_another_path_of_the_same_origin_keeps_the_key(url: str) -> None:
    assert moved(base_url=url).api_key == "sk-old"


@pytest.mark.parametrize(("key", "sent"), [("sk-new", "sk-new"), ("sk-old", ""), ("", "")])
def test_only_the_key_that_was_given_for_an_origin_goes_there(key: str, sent: str) -> None:
    origin = browser_origin_of_url(NEW)
    given = {"key_origin": origin, "key_seal": key_origin_seal(origin, "sk-new")}
    there = moved(key, base_url=NEW, **given)
    assert there.api_key == sent
    assert bool(there.problem) is not bool(sent)
    assert "sk-" not in there.problem
    assert moved(key, **given).api_key == ""


def test_what_stands_for_a_key_that_only_workers_read_is_not_judged() -> None:
    origin = browser_origin_of_url(NEW)
    change = ProviderChange(base_url=NEW, key_origin=origin, key_seal=key_origin_seal(origin, "sk"))
    provider = ProviderSettings("openai", "openai", api_key="elsewhere", unseen=True)
    settings = ModelsSettings().with_provider(provider)
    found = merge_catalogue_preferences(
        settings, Preferences(providers={"openai": change})
    ).providers["openai"]
    assert (found.api_key, found.problem) == ("elsewhere", "")
