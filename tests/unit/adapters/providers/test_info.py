"""What is told of a model: what it costs, what it can, and what is not known."""

from dataclasses import replace

import pytest

from opencrab.adapters.providers.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.facts import ModelSettings
from opencrab.domain.money import FREE, Price
from opencrab.ports.model import ModelInfo
from tests.unit.adapters.providers.installed import (
    PRICE,
    SETTINGS,
    models_and_transport,
)


@pytest.mark.parametrize(
    ("provider", "price"),
    [
        (ProviderSettings("ollama", "ollama", default_model="m"), FREE),
        (ProviderSettings("ollama", "ollama", "https://gpu.example", default_model="m"), FREE),
        (ProviderSettings("llamacpp", "llamacpp", "http://192.168.0.2:8080"), FREE),
        (ProviderSettings("llamacpp", "llamacpp", "https://llama.example"), None),
        (ProviderSettings("box", "openai", "http://127.0.0.1:1", default_model="m"), None),
        (ProviderSettings("b", "openai", "http://gpu:1", default_model="m", private=True), FREE),
        (ProviderSettings("b", "openai", "https://b.dev", default_model="m", private=True), None),
        (ProviderSettings("r", "openrouter", api_key="k", default_model="q/w:free"), FREE),
        (ProviderSettings("r", "openrouter", api_key="k", default_model="q/w"), None),
    ],
)
def test_only_the_owners_own_machine_and_gifts_are_free(
    provider: ProviderSettings, price: Price | None
) -> None:
    models, _ = models_and_transport(ModelsSettings().with_provider(provider))
    assert models.get(provider.name).info.price == price


def _info(provider: ProviderSettings, model: str = "m") -> ModelInfo:
    models, _ = models_and_transport(ModelsSettings().with_provider(provider))
    return models.get(f"{provider.name}:{model}").info


@pytest.mark.parametrize(
    ("provider", "private"),
    [
        (ProviderSettings("ollama", "ollama"), True),
        (ProviderSettings("ollama", "ollama", "https://gpu.example"), False),
        (ProviderSettings("ollama", "ollama", "https://gpu.example", private=True), True),
        (ProviderSettings("box", "openai", "http://192.168.1.2/v1"), True),
        (ProviderSettings("box", "openai", "http://192.168.1.2/v1", private=False), False),
        (ProviderSettings("box", "openai", "https://box.example"), False),
        (ProviderSettings("a", "anthropic", "http://127.0.0.1:9"), False),
    ],
)
def test_a_model_is_private_where_its_owner_or_its_address_says_so(
    provider: ProviderSettings, *, private: bool
) -> None:
    assert _info(provider).private is private


@pytest.mark.parametrize(
    ("kind", "model", "takes"),
    [
        ("openai", "gpt-4o", True), ("openai", "o3-mini", False), ("openai", "gpt-5.9", False),
        ("openrouter", "openai/gpt-6", False), ("openrouter", "x/o3d", False),
        ("anthropic", "o3", True), ("openai", "gpt-50x", False), ("openai", "gpt-4.1", True),
    ],
)  # fmt: skip
def test_what_looks_like_a_reasoning_model_takes_no_temperature(
    kind: str, model: str, *, takes: bool
) -> None:
    assert _info(ProviderSettings("p", kind, api_key="k"), model).temperature is takes


def test_anthropics_cache_has_its_price_even_where_no_list_says_it() -> None:
    settings = SETTINGS.with_model("anthropic:c", ModelSettings(price=PRICE))
    price = models_and_transport(settings)[0].get("anthropic:c").info.price
    assert price is not None
    assert price.cached_per_million == 15_000
    assert price.cache_write_per_million == 187_500
    assert price.cache_write_long_per_million == 300_000


def test_the_vendors_own_models_are_known_under_any_name_of_the_provider() -> None:
    settings = replace(
        SETTINGS.with_provider(ProviderSettings("mine", "openai", api_key="k")),
        listing=lambda: {"models": {"openai:gpt-x": {"input": 1, "output": 2}}},
        vendors={"openai": ModelSettings(hidden_tokens=7)},
    )
    models, _ = models_and_transport(settings)
    assert models.get("mine:gpt-x").info.price is not None
    assert models.get("mine:gpt-x").info.hidden_tokens == 7
    assert models.get("海:gpt-x").info.price is None


def test_what_is_not_known_of_a_model_is_said_and_never_free() -> None:
    models, _ = models_and_transport()
    known, unknown = models.get("openai:gpt-4o-mini").info, models.get("海").info
    assert (known.price, known.max_input_tokens, known.notes) == (PRICE, 128_000, ())
    assert unknown.price is None
    assert len(unknown.notes) == 2
    assert unknown.max_output_tokens <= unknown.max_input_tokens
