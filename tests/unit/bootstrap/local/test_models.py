"""OpenCrab on this machine: which models it thinks with, and keys that are kept beside its data."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from opencrab import settings
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.bootstrap.local.model_watch import watch_for_local_model_server
from opencrab.bootstrap.local.models import (
    Network,
    configured_local_models,
    models_of_local_server,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import RoutingBasis, Use


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileSecrets:
    """A machine without keys, and on which no server of models listens."""
    for variable in settings.load_settings({}, {}).absent.values():
        monkeypatch.delenv(variable, raising=False)
    for name in ("OLLAMA", "LLAMACPP"):
        variable = f"OPENCRAB_LLM__PROVIDERS__{name}__BASE_URL"
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    return FileSecrets(tmp_path)


def test_without_keys_and_servers_the_scripted_model_answers(secrets: FileSecrets) -> None:
    thinking = models_of_local_server(secrets, None)
    assert thinking.settings.default == "scripted:rules"
    assert any("opencrab setup" in note for note in thinking.notes)


def test_a_key_that_is_kept_meanwhile_opens_its_provider(secrets: FileSecrets) -> None:
    thinking = models_of_local_server(secrets, None)
    secrets.put("OPENAI_API_KEY", "sk-kept")
    assert thinking.again().default == "openai:gpt-4o"
    assert thinking.again().providers["openai"].api_key == "sk-kept"


def test_a_kept_key_wins_over_the_environment(
    secrets: FileSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    assert configured_local_models(secrets).providers["openai"].api_key == "sk-environment"
    secrets.put("OPENAI_API_KEY", "sk-kept")
    assert configured_local_models(secrets).providers["openai"].api_key == "sk-kept"


def test_whoever_has_a_key_takes_the_place_of_an_absent_default(
    secrets: FileSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    assert models_of_local_server(secrets, None).settings.default == "anthropic:claude-sonnet-4.5"


@pytest.mark.parametrize(
    ("provider", "default"),
    [("scripted", "scripted:rules"), ("ollama", "ollama:"), ("ollama:qwen3:8b", "ollama:qwen3:8b")],
)
def test_a_chosen_provider_does_all_the_thinking(
    secrets: FileSecrets, monkeypatch: pytest.MonkeyPatch, provider: str, default: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    thinking = models_of_local_server(secrets, provider)
    for found in (thinking.settings, thinking.again()):
        assert found.default == default
        assert set(found.uses) <= {Use.EMBEDDING}
        assert found.fallback == ()


def test_an_unknown_provider_is_refused_with_the_names_of_the_others(secrets: FileSecrets) -> None:
    with pytest.raises(Invalid, match="'nobody'") as caught:
        models_of_local_server(secrets, "nobody:x")
    assert "openrouter" in (caught.value.cure or "")


VENDORS = {
    "OPENAI_API_KEY": "openai",
    "ANTHROPIC_API_KEY": "anthropic",
    "GOOGLE_API_KEY": "google",
    "OPENROUTER_API_KEY": "openrouter",
    "XAI_API_KEY": "xai",
    "DEEPSEEK_API_KEY": "deepseek",
    "MISTRAL_API_KEY": "mistral",
    "GROQ_API_KEY": "groq",
    "AZURE_OPENAI_API_KEY": "azure",
}


@pytest.mark.parametrize("variable", VENDORS)
def test_the_key_of_any_vendor_alone_is_enough(
    secrets: FileSecrets, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    vendor = VENDORS[variable]
    monkeypatch.setenv(variable, "k-1")
    if vendor == "azure":
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")
    thinking = models_of_local_server(secrets, None)
    assert thinking.settings.default.partition(":")[0] == vendor
    models = ProviderModels(thinking.again, Network().transport)
    assert vendor in {each.partition(":")[0] for each in models.routing.fallback}
    for use in Use:
        if use is Use.EMBEDDING:
            continue
        chosen = models.routing.chosen(use, RoutingBasis()).model
        info = next(each for each in models.infos() if each.name == chosen)
        assert (info.provider, info.price is None) == (vendor, False), use


def test_every_vendor_with_a_key_of_its_own_is_in_that_table(secrets: FileSecrets) -> None:
    absent = settings.load_settings({}, {}).absent_below("llm.providers")
    assert set(absent.values()) <= set(VENDORS) | {"AZURE_OPENAI_ENDPOINT", "AWS_REGION"}


@pytest.mark.parametrize("provider", ["openai", "google:gemini-3-flash-preview"])
def test_a_chosen_provider_without_a_key_is_refused_at_the_start(
    secrets: FileSecrets, provider: str
) -> None:
    with pytest.raises(Invalid, match="API_KEY is not set") as caught:
        models_of_local_server(secrets, provider)
    assert "API_KEY" in (caught.value.cure or "")
    secrets.put(f"{provider.partition(':')[0].upper()}_API_KEY", "k-1")
    assert models_of_local_server(secrets, provider).settings.default.startswith(provider)


class Ollama(BaseHTTPRequestHandler):
    """As much of Ollama as is looked at."""

    def do_GET(self) -> None:
        content = b'{"models": [{"name": "qwen3:8b"}]}'
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
        """Say nothing."""


def test_a_model_server_that_starts_later_is_used_without_a_restart(
    secrets: FileSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Ollama, bind_and_activate=False)
    server.server_bind()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("OPENCRAB_LLM__PROVIDERS__OLLAMA__BASE_URL", url)
    thinking = models_of_local_server(secrets, None)
    models = ProviderModels(thinking.again, Network().transport)
    assert models.routing.default == "scripted:rules"
    said, found = list[str](), threading.Event()

    def say(*, name: str) -> None:
        said.append(name)
        found.set()

    with watch_for_local_model_server(models, thinking, say, look_seconds=0.01):
        server.server_activate()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        assert found.wait(30)
    server.shutdown()
    server.server_close()
    assert said == [models.routing.default] == ["ollama:qwen3:8b"]
