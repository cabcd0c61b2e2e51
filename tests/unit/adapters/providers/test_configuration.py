"""What the configuration says of providers and models, and how it is told that it cannot be."""

from typing import Any

import pytest

from opencrab.adapters.providers.configuration import (
    ModelSettings,
    ModelsSettings,
    ProviderSettings,
    model_facts,
    models_settings,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.money import Price

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
    found = models_settings(LLM, PRICING, {"anthropic": "ANTHROPIC_API_KEY"})
    assert found.default == "openai:gpt-4o-mini"
    assert found.aliases == {"速い": "ollama:llama3.1:8b"}
    kinds = {name: provider.kind for name, provider in found.providers.items()}
    expected = {"openai": "openai", "ollama": "ollama", "my-box": "openai"}
    assert kinds == expected | {"anthropic": "anthropic"}
    assert found.providers["openai"].api_key == "sk-1"
    assert found.providers["openai"].organization == "海"
    assert found.providers["anthropic"].missing == "ANTHROPIC_API_KEY"


def test_an_empty_configuration_thinks_with_the_scripted_model() -> None:
    assert models_settings({}, {}) == ModelsSettings(default="scripted:")


def test_every_provider_knows_where_its_key_is_set() -> None:
    providers = models_settings(LLM, {}).providers
    assert providers["openai"].key_name == "OPENAI_API_KEY"
    assert providers["my-box"].key_name == "BOX"
    own = models_settings({"providers": {"my-box.2": {}}}, {}).providers["my-box.2"]
    assert own.key_name == "MY_BOX_2_API_KEY"


def test_a_key_is_not_shown() -> None:
    assert "sk-1" not in repr(models_settings(LLM, PRICING))


def test_a_price_is_exact_in_millionths_of_a_dollar() -> None:
    facts = model_facts(PRICING)
    mini = facts["openai:gpt-4o-mini"]
    assert mini.price == Price(input_per_million=150_000, output_per_million=600_000)
    assert mini.max_input_tokens == 128_000
    assert facts["openai:half"].price is None


@pytest.mark.parametrize(
    ("usd", "micro"), [("0.0000001", 1), (0, 0), ("2.5", 2_500_000), (3, 3_000_000)]
)
def test_a_price_is_never_rounded_down(usd: Any, micro: int) -> None:
    facts = model_facts({"models": {"p": {"m": {"input": usd, "output": usd}}}})
    assert facts["p:m"].price == Price(input_per_million=micro, output_per_million=micro)


@pytest.mark.parametrize("usd", [-1, "free", "NaN", "Infinity", None, [], "−1"])
def test_a_price_that_is_none_is_invalid_and_names_the_model(usd: Any) -> None:
    with pytest.raises(Invalid, match="p:m"):
        model_facts({"models": {"p": {"m": {"input": usd, "output": 1}}}})


@pytest.mark.parametrize("limit", [0, -1, "many", 1.5, True])
def test_a_limit_that_is_none_is_invalid(limit: Any) -> None:
    with pytest.raises(Invalid, match="max_output_tokens of 'p:m'"):
        model_facts({"models": {"p": {"m": {"max_output_tokens": limit}}}})


@pytest.mark.parametrize(
    ("llm", "field"),
    [
        ({"providers": []}, "llm.providers"),
        ({"providers": {"海": 3}}, "llm.providers.海"),
        ({"providers": {"海": {"kind": "fax"}}}, "llm.providers.海.kind"),
        ({"providers": {"海": {"base_url": 80}}}, "llm.providers.海.base_url"),
        ({"providers": {"海": {"api_key": ["k"]}}}, "llm.providers.海.api_key"),
        ({"aliases": {"速い": "ollama"}}, "llm.aliases.速い"),
        ({"aliases": {"速い": {"provider": "ollama"}}}, "llm.aliases.速い"),
        ({"aliases": 1}, "llm.aliases"),
    ],
)
def test_a_mistake_is_named_with_its_place(llm: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        models_settings(llm, {})
    assert caught.value.field == field


def test_settings_with_one_more_provider_leave_the_old_ones_alone() -> None:
    before = models_settings(LLM, {})
    after = before.with_provider(ProviderSettings("ollama", "ollama", "http://gpu:11434"))
    assert after.providers["ollama"].base_url == "http://gpu:11434"
    assert before.providers["ollama"].base_url == "http://localhost:11434"
    assert set(after.providers) == set(before.providers)
    known = after.with_model("ollama:x", ModelSettings(max_input_tokens=5))
    assert known.models["ollama:x"].max_input_tokens == 5
    assert "ollama:x" not in after.models
