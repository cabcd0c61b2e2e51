"""What is told of a model: what it costs, what it can, and what is not known."""

from dataclasses import replace

import pytest

from opencrab import settings
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.model_facts import (
    ModelSettings,
    catalogue_facts,
    catalogue_facts_of_similar_models,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import FREE, Price
from opencrab.ports.models.model import ModelInfo
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
        (ProviderSettings("box", "openai", "http://127.0.0.1:1", default_model="m"), FREE),
        (ProviderSettings("蟹", "anthropic", "http://[::1]:1", default_model="m"), FREE),
        (
            ProviderSettings("p", "openai", "http://localhost", default_model="m", private=False),
            None,
        ),
        (ProviderSettings("box", "openai", "http://192.168.0.2:1", default_model="m"), None),
        (ProviderSettings("b", "openai", "http://gpu:1", default_model="m", private=True), FREE),
        (ProviderSettings("b", "openai", "https://b.dev", default_model="m", private=True), None),
        (ProviderSettings("r", "openrouter", api_key="k", default_model="q/w:free"), FREE),
        (ProviderSettings("r", "openrouter", api_key="k", default_model="q/w"), None),
        (ProviderSettings("g", "openai", "https://g.dev", default_model="m", price=PRICE), PRICE),
        (ProviderSettings("g", "openai", "http://[::1]:1", default_model="m", price=PRICE), PRICE),
    ],
)
def test_only_the_owners_own_machine_and_gifts_are_free(
    provider: ProviderSettings, price: Price | None
) -> None:
    models, _ = models_and_transport(ModelsSettings().with_provider(provider))
    assert models.get(provider.name).info.price == price


SHIPPED = settings.load_settings({}, {}).pricing


def _info(provider: ProviderSettings, model: str = "m") -> ModelInfo:
    known = ModelsSettings(families=catalogue_facts_of_similar_models(SHIPPED)).with_provider(
        provider
    )
    models, _ = models_and_transport(known)
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
        ("openai", "gpt-10x", False), ("openai", "gpt-4.1", True), ("azure", "gpt-35-turbo", True),
        ("azure", "gpt-5-mini", False), ("openai", "gpt-oss-20b", True), ("openai", "O3", False),
        ("anthropic", "claude-opus-4.6", True), ("anthropic", "claude-opus-4.7", False),
        ("anthropic", "claude-opus-4-8-20260301", False), ("anthropic", "claude-opus-5", False),
        ("anthropic", "claude-opus-5.5", False), ("anthropic", "claude-sonnet-4.6", True),
        ("anthropic", "claude-sonnet-5", False), ("anthropic", "claude-sonnet-5-5", False),
        ("anthropic", "claude-haiku-4.5", True), ("anthropic", "claude-haiku-5.5", False),
        ("anthropic", "claude-fable-5", False), ("anthropic", "claude-mythos-5-2", False),
        ("openrouter", "anthropic/claude-opus-4.7", False), ("google", "gemini-5", True),
    ],
)  # fmt: skip
def test_what_looks_like_a_reasoning_model_takes_no_temperature(
    kind: str, model: str, *, takes: bool
) -> None:
    url = "https://n.openai.azure.com" if kind == "azure" else ""
    assert _info(ProviderSettings("p", kind, url, api_key="k"), model).temperature is takes


def test_what_is_said_of_one_model_wins_over_its_family() -> None:
    own = catalogue_facts({"models": {"openai": {"o3": {"temperature": True}}}})
    known = replace(SETTINGS, families=catalogue_facts_of_similar_models(SHIPPED), models=own)
    models, _ = models_and_transport(known)
    assert models.get("openai:o3").info.temperature is True
    assert models.get("openai:o4-mini").info.temperature is False


GROK = ProviderSettings("xai", "openai", "https://api.x.ai/v1", api_key="k")


@pytest.mark.parametrize(
    ("model", "thinks"),
    [("grok-4.5", True), ("grok-4-0709", True), ("grok-code-fast-1", True), ("grok-3", False)],
)
def test_what_xais_models_think_is_set_aside_and_they_take_no_stop(
    model: str, *, thinks: bool
) -> None:
    info = _info(GROK, model)
    assert info.hidden_output_tokens == (32_768 if thinks else 0)
    assert info.stop is not thinks
    router = ProviderSettings("r", "openrouter", api_key="k")
    assert _info(router, f"x-ai/{model}").hidden_output_tokens == info.hidden_output_tokens


@pytest.mark.parametrize("kind", ["openai", "azure"])
@pytest.mark.parametrize(
    "model", ["gpt-5.2-pro", "gpt-5-pro-2025-10-06", "o1-pro", "gpt-5.3-codex", "codex-mini-latest"]
)
def test_a_model_that_only_responses_serve_is_asked_over_them(kind: str, model: str) -> None:
    url = "https://n.openai.azure.com" if kind == "azure" else ""
    info = _info(ProviderSettings("p", kind, url, api_key="k"), model)
    assert info.responses
    assert not info.temperature or model == "codex-mini-latest"


def test_other_models_are_asked_over_chat_completions() -> None:
    assert not _info(ProviderSettings("p", "openai", api_key="k"), "gpt-5.2").responses


def test_a_model_that_is_marked_as_not_offered_says_so() -> None:
    provider = ProviderSettings("p", "openai", api_key="k")
    known = ModelsSettings().with_provider(provider).with_model("p:m", ModelSettings(chat=False))
    models, _ = models_and_transport(known)
    with pytest.raises(Invalid, match="another interface") as caught:
        models.get("p:m")
    assert caught.value.cure


def test_others_may_serve_a_model_of_that_name() -> None:
    server = ProviderSettings("box", "openai", "http://gpu:8000/v1")
    assert _info(server, "gpt-x-codex").name == "box:gpt-x-codex"
    router = ProviderSettings("r", "openrouter", api_key="k")
    assert _info(router, "openai/gpt-5.3-codex").name == "r:openai/gpt-5.3-codex"


def test_a_deployment_on_azure_that_is_named_like_openais_model_costs_as_much() -> None:
    azure = ProviderSettings("cloud", "azure", "https://n.openai.azure.com", api_key="k")
    listed = {"openai:gpt-x": {"input": 1, "output": 2}, "azure:o1": {"input": 7, "output": 9}}
    known = replace(SETTINGS.with_provider(azure), listing=lambda: {"models": listed})
    models, _ = models_and_transport(known)
    info = models.get("cloud:gpt-x").info
    assert info.price is not None
    assert info.price.output_per_million == 2_000_000
    assert "OpenAI's" in " ".join(info.notes)
    own = models.get("cloud:o1").info
    assert own.price is not None
    assert own.price.input_per_million == 7_000_000
    assert "OpenAI's" not in " ".join(own.notes)
    assert models.get("cloud:my-own").info.price is None


def test_anthropics_cache_has_its_price_even_where_no_list_says_it() -> None:
    known = SETTINGS.with_model("anthropic:c", ModelSettings(price=PRICE))
    price = models_and_transport(known)[0].get("anthropic:c").info.price
    assert price is not None
    assert price.cached_per_million == 15_000
    assert price.cache_write_per_million == 187_500
    assert price.cache_write_long_per_million == 300_000


def test_the_vendors_own_models_are_known_under_any_name_of_the_provider() -> None:
    known = replace(
        SETTINGS.with_provider(ProviderSettings("mine", "openai", api_key="k")),
        listing=lambda: {"models": {"openai:gpt-x": {"input": 1, "output": 2}}},
        vendors={"openai": ModelSettings(hidden_tokens=7)},
    )
    models, _ = models_and_transport(known)
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


@pytest.mark.parametrize(
    ("provider", "model", "leads"),
    [
        (ProviderSettings("ollama", "ollama"), "deepseek-r1:8b", True),
        (ProviderSettings("ollama", "ollama"), "qwen3:8b", True),
        (ProviderSettings("vllm", "openai", "http://gpu:8000/v1"), "Qwen/QwQ-32B", True),
        (ProviderSettings("ollama", "ollama"), "llama3.1:8b", False),
        (ProviderSettings("openai", "openai", api_key="k"), "gpt-5.2", False),
        (ProviderSettings("anthropic", "anthropic", api_key="k"), "claude-sonnet-4.5", False),
    ],
)
def test_only_models_that_are_known_to_lead_with_their_thoughts_do(
    provider: ProviderSettings,
    model: str,
    leads: bool,  # noqa: FBT001
) -> None:
    assert _info(provider, model).leading_blocks is leads


@pytest.mark.parametrize(
    ("model", "opened"),
    [
        ("deepseek-r1:8b", True),
        ("Qwen/QwQ-32B", True),
        ("qwen3-30b-a3b-thinking-2507", True),
        ("qwen3:8b", False),
        ("qwen3-30b-a3b-instruct-2507", False),
        ("llama3.1:8b", False),
    ],
)
def test_of_some_models_the_template_opens_the_thought(
    model: str,
    opened: bool,  # noqa: FBT001
) -> None:
    info = _info(ProviderSettings("vllm", "openai", "http://gpu:8000/v1"), model)
    assert info.opened_block is opened
    assert info.leading_blocks or not opened
