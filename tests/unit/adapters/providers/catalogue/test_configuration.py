"""What the configuration says of providers and models, and how it is told that it cannot be."""

from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.configuration import (
    MANNERS,
    ModelsSettings,
    ProviderSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings, catalogue_facts
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import CallOptions, Use
from opencrab.domain.money.budget import Price

LLM = {
    "default_provider": "openai",
    "default_model": "gpt-4o-mini",
    "providers": {
        "openai": {"api_key": " sk-1 ", "organization": "海"},
        "ollama": {"base_url": "http://localhost:11434"},
        "my-box": {"base_url": "http://gpu:8000/v1", "key_name": "BOX"},
        "anthropic": {"api_key": "x"},
    },
    "aliases": {"速い": {"provider": "ollama", "model": "llama3.1:8b"}},
}
PRICING = {
    "models": {
        "openai": {
            "gpt-4o-mini": {"input": 0.15, "output": 0.6, "max_input_tokens": 128_000},
            "half": {"input": 1},
        }
    }
}


def test_the_tables_become_settings() -> None:
    found = provider_catalogue_settings(LLM, PRICING, {"anthropic": "ANTHROPIC_API_KEY"})
    assert found.default == "openai:gpt-4o-mini"
    assert found.aliases == {"速い": "ollama:llama3.1:8b"}
    kinds = {name: provider.kind for name, provider in found.providers.items()}
    expected = {"openai": "openai", "ollama": "ollama", "my-box": "openai"}
    assert kinds == expected | {"anthropic": "anthropic"}
    assert found.providers["openai"].api_key == "sk-1"
    assert found.providers["openai"].organization == "海"
    assert found.providers["anthropic"].missing == "ANTHROPIC_API_KEY"


def test_an_empty_configuration_thinks_with_the_scripted_model() -> None:
    assert provider_catalogue_settings({}, {}) == ModelsSettings(default="scripted:")


def test_every_provider_knows_where_its_key_is_set() -> None:
    providers = provider_catalogue_settings(LLM, {}).providers
    assert providers["openai"].key_name == "OPENAI_API_KEY"
    assert providers["my-box"].key_name == "BOX"
    own = provider_catalogue_settings({"providers": {"my-box.2": {}}}, {}).providers["my-box.2"]
    assert own.key_name == "MY_BOX_2_API_KEY"


def test_a_key_is_not_shown() -> None:
    assert "sk-1" not in repr(provider_catalogue_settings(LLM, PRICING))


def test_a_price_is_exact_in_millionths_of_a_dollar() -> None:
    facts = catalogue_facts(PRICING)
    mini = facts["openai:gpt-4o-mini"]
    assert mini.price == Price(input_per_million=150_000, output_per_million=600_000)
    assert mini.max_input_tokens == 128_000
    assert facts["openai:half"].price is None


@pytest.mark.parametrize(
    ("llm", "field"),
    [
        ({"providers": []}, "llm.providers"),
        ({"providers": {"海": 3}}, "llm.providers.海"),
        ({"providers": {"海": {"kind": "fax"}}}, "llm.providers.海.kind"),
        ({"providers": {"海": {"base_url": 80}}}, "llm.providers.海.base_url"),
        ({"providers": {"海": {"api_key": ["k"]}}}, "llm.providers.海.api_key"),
        ({"providers": {"海": {"base_url": "http://sea.example"}}}, "llm.providers.海.base_url"),
        (
            {"providers": {"海": {"base_url": "http://169.254.169.254"}}},
            "llm.providers.海.base_url",
        ),
        ({"providers": {"海": {"enabled": "maybe"}}}, "llm.providers.海.enabled"),
        ({"providers": {"海": {"private": 1}}}, "llm.providers.海.private"),
        ({"providers": {"海": {"timeout_seconds": -1}}}, "llm.providers.海.timeout_seconds"),
        ({"providers": {"海": {"usd_per_million": "1"}}}, "llm.providers.海.usd_per_million"),
        ({"providers": {"海": {"usd_per_million": "0/0"}}}, "llm.providers.海.usd_per_million"),
        (
            {"providers": {"海": {"usd_per_million": "1/20000"}}},
            "llm.providers.海.usd_per_million",
        ),
        ({"providers": {"海": {"usd_per_million": "1/2/3"}}}, "llm.providers.海.usd_per_million"),
        (
            {"providers": {"海": {"timeout_seconds": float("nan")}}},
            "llm.providers.海.timeout_seconds",
        ),
        ({"providers": {"海": {"base_ulr": "x"}}}, "llm.providers.海.base_ulr"),
        ({"providers": {"a:b": {}}}, "llm.providers.a:b"),
        ({"default_provider": "nobody"}, "llm.default_provider"),
        ({"aliases": {"速い": "ollama"}}, "llm.aliases.速い"),
        ({"aliases": {"速い": ""}}, "llm.aliases.速い"),
        (
            {"aliases": {"速い": {"provider": "scripted", "model": "x", "n": 1}}},
            "llm.aliases.速い.n",
        ),
        ({"aliases": {"a": "a"}}, "llm.aliases.a"),
        ({"aliases": {"a": "b", "b": "c", "c": "a"}}, "llm.aliases.a"),
        ({"models": {"thinking": "nobody:x"}}, "llm.models.thinking"),
        ({"models": {"dreaming": "scripted"}}, "llm.models.dreaming"),
        ({"uses": {"dreaming": {}}}, "llm.uses.dreaming"),
        ({"uses": {"thinking": {"temperature": 3}}}, "llm.uses.thinking"),
        ({"uses": {"thinking": {"temperature": float("nan")}}}, "llm.uses.thinking"),
        ({"uses": {"thinking": {"stop": 5}}}, "llm.uses.thinking"),
        ({"uses": {"thinking": {"timeout_seconds": 0}}}, "llm.uses.thinking"),
        ({"uses": {"thinking": {"top_k": 0}}}, "llm.uses.thinking.top_k"),
        ({"fallback": {"chain": "openai"}}, "llm.fallback.chain"),
        ({"fallback": {"chain": ["nobody"]}}, "llm.fallback.chain"),
        ({"fallback": {"chain": ["scripted", "scripted"]}}, "llm.fallback.chain"),
        ({"fallback": {"chains": []}}, "llm.fallback.chains"),
        ({"self_selection": {"allowed_aliases": ["x"]}}, "llm.self_selection.allowed_aliases"),
        ({"self_selection": {"enabled": "はい"}}, "llm.self_selection.enabled"),
        ({"aliases": {"速い": {"provider": "ollama"}}}, "llm.aliases.速い"),
        ({"aliases": 1}, "llm.aliases"),
    ],
)
def test_a_mistake_is_named_with_its_place(llm: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        provider_catalogue_settings(llm, {})
    assert caught.value.field == field
    assert caught.value.cure


def test_settings_with_one_more_provider_leave_the_old_ones_alone() -> None:
    before = provider_catalogue_settings(LLM, {})
    after = before.with_provider(ProviderSettings("ollama", "ollama", "http://gpu:11434"))
    assert after.providers["ollama"].base_url == "http://gpu:11434"
    assert before.providers["ollama"].base_url == "http://localhost:11434"
    assert set(after.providers) == set(before.providers)
    known = after.with_model("ollama:x", ModelSettings(max_input_tokens=5))
    assert known.models["ollama:x"].max_input_tokens == 5
    assert "ollama:x" not in after.models


def test_a_fallback_that_names_one_model_twice_under_two_names_is_refused() -> None:
    llm = {"aliases": {"a": "scripted:rules"}, "fallback": {"chain": ["a", "scripted:rules"]}}
    with pytest.raises(Invalid, match="'a' and as 'scripted:rules'"):
        provider_catalogue_settings(llm, {})


def test_a_circle_of_aliases_is_drawn() -> None:
    with pytest.raises(Invalid, match="a → b → a"):
        provider_catalogue_settings({"aliases": {"a": "b", "b": "a"}}, {})


def test_uses_fallback_and_selection_are_read() -> None:
    found = provider_catalogue_settings(
        LLM
        | {
            "models": {"thinking": {"provider": "openai", "model": "o3"}, "creative": "速い"},
            "fallback": {"chain": ["速い", "anthropic", "openai:gpt-5"]},
            "self_selection": {"enabled": False, "allowed_aliases": ["速い"]},
        },
        {},
    )
    assert found.uses == {Use.THINKING: "openai:o3", Use.CREATIVE: "速い"}
    assert found.fallback == ("速い", "anthropic", "openai:gpt-5")
    assert (found.self_selection, found.selectable) == (False, ("速い",))


def test_each_use_has_its_manner_and_keeps_it_where_nothing_is_said() -> None:
    found = provider_catalogue_settings({"uses": {"conversation": {"stop": ["。"]}}}, {}).manners
    assert found[Use.CONVERSATION] == CallOptions(temperature=0.7, stop=("。",))
    assert found[Use.THINKING] == MANNERS[Use.THINKING] == CallOptions(timeout_seconds=120)
    assert MANNERS[Use.TOOL_CALLING].temperature == 0.1


def test_a_kept_key_wins_over_the_configured_one() -> None:
    keys = {"OPENAI_API_KEY": "sk-kept", "ANTHROPIC_API_KEY": "sk-ant"}
    missing = {"anthropic": "ANTHROPIC_API_KEY"}
    found = provider_catalogue_settings(LLM, {}, missing, stored_key=keys.get).providers
    assert found["openai"].api_key == "sk-kept"
    assert (found["anthropic"].api_key, found["anthropic"].missing) == ("sk-ant", "")
    assert found["ollama"].api_key == ""


def test_flags_and_times_may_come_as_text_from_the_environment() -> None:
    table = {"private": "true", "stream": "0", "enabled": "False", "timeout_seconds": "1.5"}
    found = provider_catalogue_settings({"providers": {"box": table}}, {}).providers["box"]
    assert (found.private, found.stream, found.enabled) == (True, False, False)
    assert found.timeout_seconds == 1.5


def test_only_one_model_thinks_when_it_is_chosen_for_everything() -> None:
    llm = LLM | {"models": {"thinking": "openai:o3"}, "fallback": {"chain": ["openai"]}}
    only = provider_catalogue_settings(llm, {}).with_single_model("ollama:x")
    assert (only.default, only.uses, only.fallback) == ("ollama:x", {}, ())


def test_a_key_is_never_named_after_another_variable_that_is_missing() -> None:
    llm = {"providers": {"box": {"base_url": ""}, "own": {}}}
    missing = {"box": "BOX_URL", "own": "OWN_SECRET"}
    found = provider_catalogue_settings(llm, {}, missing, key_names={"own": "OWN_SECRET"}).providers
    assert (found["box"].key_name, found["box"].missing) == ("BOX_API_KEY", "BOX_URL")
    assert (found["own"].key_name, found["own"].missing) == ("OWN_SECRET", "OWN_SECRET")
    kept = {"OWN_SECRET": "sk-own", "BOX_API_KEY": "sk-box"}
    opened = provider_catalogue_settings(
        llm, {}, missing, key_names={"own": "OWN_SECRET"}, stored_key=kept.get
    ).providers
    assert (opened["own"].api_key, opened["own"].missing) == ("sk-own", "")
    assert (opened["box"].api_key, opened["box"].missing) == ("sk-box", "BOX_URL")


@pytest.mark.parametrize("text", ["0.15/0.60", " 0.15 / 0.6 "])
def test_a_provider_has_a_price_for_models_that_no_list_has(text: str) -> None:
    table = {"gate": {"base_url": "https://gate.example/v1", "usd_per_million": text}}
    found = provider_catalogue_settings({"providers": table}, {}).providers["gate"].price
    assert found == Price(input_per_million=150_000, output_per_million=600_000)
