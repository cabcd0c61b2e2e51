"""Models by name: what is there, what is missing, and what is known of each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.configuration import (
    ModelSettings,
    ModelsSettings,
    ProviderSettings,
)
from opencrab.adapters.providers.detect import LocalServer
from opencrab.adapters.providers.registry import SCRIPTED, ProviderModels, usable
from opencrab.adapters.providers.transport import Transport
from opencrab.domain.errors import Invalid
from opencrab.domain.money import FREE, Price
from opencrab.ports.model import ChatModel, ChatRequest, Said
from tests.unit.adapters.providers.fake import Replying

PRICE = Price(input_per_million=150_000, output_per_million=600_000)
SETTINGS = ModelsSettings(
    default="openai:gpt-4o-mini",
    providers={
        "openai": ProviderSettings("openai", "openai", api_key="sk-1", default_model="gpt-4o"),
        "ollama": ProviderSettings("ollama", "ollama"),
        "llamacpp": ProviderSettings("llamacpp", "llamacpp"),
        "海": ProviderSettings("海", "openai", "https://sea.example/v1", default_model="crab"),
        "absent": ProviderSettings("absent", "openai", "https://a.example", missing="ABSENT_KEY"),
        "anthropic": ProviderSettings("anthropic", "anthropic", api_key="x"),
    },
    models={"openai:gpt-4o-mini": ModelSettings(max_input_tokens=128_000, price=PRICE)},
    aliases={"速い": "ollama:llama3.1:8b"},
)
FOUND = LocalServer("llamacpp", "http://localhost:8080", "tiny", input_tokens=2_048)


def _models(settings: ModelsSettings = SETTINGS) -> tuple[ProviderModels, Replying]:
    transport = Replying(b'{"choices":[{"message":{"content":"ok"}}]}')
    return ProviderModels(settings, lambda: transport), transport


def _asked(model: ChatModel, transport: Replying) -> str:
    request = ChatRequest("", (), "", (Said("user", "やあ"),), 5)
    model.chat(request, model.encode(request))
    return transport.sent[-1].url


@pytest.mark.parametrize(
    ("name", "full_name", "url"),
    [
        (None, "openai:gpt-4o-mini", "https://api.openai.com/v1"),
        ("openai", "openai:gpt-4o", "https://api.openai.com/v1"),
        ("速い", "ollama:llama3.1:8b", "http://localhost:11434/v1"),
        ("ollama:qwen3:4b", "ollama:qwen3:4b", "http://localhost:11434/v1"),
        ("llamacpp", "llamacpp:default", "http://localhost:8080/v1"),
        ("海", "海:crab", "https://sea.example/v1"),
    ],
)
def test_a_model_is_found_by_its_name_its_provider_or_an_alias(
    name: str | None, full_name: str, url: str
) -> None:
    models, transport = _models()
    model = models.get(name)
    assert model.info.name == full_name
    assert _asked(model, transport) == f"{url}/chat/completions"


def test_a_model_is_made_once() -> None:
    models, _ = _models()
    assert models.get("速い") is models.get("ollama:llama3.1:8b")


@pytest.mark.parametrize("name", ["scripted", "scripted:rules"])
def test_the_scripted_model_is_always_there_and_needs_no_network(name: str) -> None:
    def network() -> Transport:
        raise AssertionError("no network is needed")

    model = ProviderModels(ModelsSettings(), network).get(name)
    assert model.info.price == FREE
    assert model.info.notes


def test_a_scripted_provider_may_have_a_script_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "台本.toml"
    script.write_text('[[answers]]\ntext = "台本どおり"\n', encoding="utf-8")
    provider = ProviderSettings("play", "scripted", script=str(script))
    models, _ = _models(ModelsSettings().with_provider(provider))
    request = ChatRequest("", (), "", (Said("user", "やあ", name="rin"),), 50)
    model = models.get("play")
    assert model.chat(request, model.encode(request)).text == "台本どおり"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nobody", "'nobody'"), ("nobody:x", "'nobody'"), ("ollama", "no default"),
        ("anthropic", "yet"), ("anthropic:claude", "yet"), ("google:x", "yet"),
        ("absent:x", "ABSENT_KEY"), (":", "''"), ("海賊", "'海賊'"),
    ],
)  # fmt: skip
def test_a_model_that_is_not_there_is_invalid_and_told_why(name: str, told: str) -> None:
    models, _ = _models()
    with pytest.raises(Invalid, match=told) as caught:
        models.get(name)
    assert caught.value.field == "model"
    assert caught.value.cure


def test_openai_without_a_key_names_the_variable() -> None:
    bare = ModelsSettings().with_provider(
        ProviderSettings("openai", "openai", key_name="OPENAI_API_KEY", default_model="gpt-4o")
    )
    with pytest.raises(Invalid, match="OPENAI_API_KEY"):
        _models(bare)[0].get("openai")


def test_what_is_not_known_of_a_model_is_said_and_never_free() -> None:
    models, _ = _models()
    known, unknown = models.get("openai:gpt-4o-mini").info, models.get("海").info
    assert (known.price, known.max_input_tokens, known.notes) == (PRICE, 128_000, ())
    assert unknown.price is None
    assert len(unknown.notes) == 2
    assert unknown.max_output_tokens <= unknown.max_input_tokens


@pytest.mark.parametrize(
    ("provider", "price"),
    [
        (ProviderSettings("ollama", "ollama", default_model="m"), FREE),
        (ProviderSettings("ollama", "ollama", "https://gpu.example", default_model="m"), FREE),
        (ProviderSettings("llamacpp", "llamacpp", "http://192.168.0.2:8080"), FREE),
        (ProviderSettings("llamacpp", "llamacpp", "https://llama.example"), None),
        (ProviderSettings("box", "openai", "http://127.0.0.1:1", default_model="m"), None),
    ],
)
def test_only_the_owners_own_machine_is_free(
    provider: ProviderSettings, price: Price | None
) -> None:
    models, _ = _models(ModelsSettings().with_provider(provider))
    assert models.get(provider.name).info.price == price


def test_an_unsafe_address_is_refused_before_anything_is_sent() -> None:
    provider = ProviderSettings("海", "openai", "http://sea.example/v1", default_model="crab")
    models, transport = _models(SETTINGS.with_provider(provider))
    with pytest.raises(Invalid, match="https"):
        models.get("海")
    assert not transport.sent


@pytest.mark.parametrize(
    ("changes", "server", "default"),
    [
        ({}, None, "openai:gpt-4o-mini"),
        ({}, FOUND, "openai:gpt-4o-mini"),
        ({"default": "absent:x"}, None, SCRIPTED),
        ({"default": "absent:x"}, FOUND, "llamacpp:tiny"),
        ({"default": "anthropic:claude"}, FOUND, "llamacpp:tiny"),
        ({"default": "nobody:x"}, None, SCRIPTED),
        ({"providers": {}}, FOUND, "llamacpp:tiny"),
        ({"providers": {}}, None, SCRIPTED),
    ],
)
def test_the_default_is_the_best_that_can_work_here(
    changes: Mapping[str, Any], server: LocalServer | None, default: str
) -> None:
    wanted = ModelsSettings(
        default=changes.get("default", SETTINGS.default),
        providers=changes.get("providers", SETTINGS.providers),
    )
    settings = usable(wanted, server)
    assert settings.default == default
    assert _models(settings)[0].get(None).info.name == default


def test_a_server_that_was_found_gives_its_real_context() -> None:
    models, transport = _models(usable(ModelsSettings(), FOUND))
    model = models.get(None)
    assert model.info.max_input_tokens == model.info.max_total_tokens == 2_048
    assert model.info.price == FREE
    assert _asked(model, transport).startswith("http://localhost:8080/v1/")
    known = ModelsSettings(models={"llamacpp:tiny": ModelSettings(max_input_tokens=99)})
    assert _models(usable(known, FOUND))[0].get(None).info.max_input_tokens == 99
