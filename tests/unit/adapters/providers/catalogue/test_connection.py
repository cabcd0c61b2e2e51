"""Connections to providers: where they are asked, for how long, and with which key."""

from dataclasses import replace
from functools import partial

import pytest

from opencrab.adapters.providers.catalogue.configuration import ProviderSettings
from opencrab.adapters.providers.catalogue.connection import address_of_provider
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.domain.errors import Invalid
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.installed import (
    SETTINGS,
    address_asked,
    models_and_transport,
)


def test_a_provider_waits_no_longer_than_its_owner_wants() -> None:
    provider = ProviderSettings("海", "openai", "https://sea.example", timeout_seconds=1.5)
    models, transport = models_and_transport(SETTINGS.with_provider(provider))
    address_asked(models.get("海:x"), transport)
    assert transport.sent[-1].timeout_seconds == 1.5


def test_a_provider_says_who_asks() -> None:
    provider = ProviderSettings(
        "openrouter", "openrouter", api_key="k", site_url="https://crab.example", app_name="Crab"
    )
    models, transport = models_and_transport(SETTINGS.with_provider(provider))
    address_asked(models.get("openrouter:a/b"), transport)
    sent = {name.lower(): value for name, value in transport.sent[-1].headers.items()}
    assert (sent["http-referer"], sent["x-title"]) == ("https://crab.example", "Crab")


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://n.openai.azure.com", "https://n.openai.azure.com/openai/v1/chat/completions"),
        ("https://n.example/openai/v1/", "https://n.example/openai/v1/chat/completions"),
    ],
)
def test_azure_is_asked_at_its_own_resource(base_url: str, url: str) -> None:
    provider = ProviderSettings("azure", "azure", base_url, api_key="k")
    models, transport = models_and_transport(SETTINGS.with_provider(provider))
    assert address_asked(models.get("azure:mine"), transport) == url
    assert transport.sent[-1].headers["api-key"] == "k"


@pytest.mark.parametrize("key", ["sk 1", "sk-鍵", "sk-1\n2"])
def test_a_key_that_no_request_can_carry_makes_a_model_unusable(key: str) -> None:
    provider = ProviderSettings("openai", "openai", api_key=key, key_name="OPENAI_API_KEY")
    models, transport = models_and_transport(SETTINGS.with_provider(provider))
    for ask in (models.get, models.embedder):
        with pytest.raises(Invalid, match="OPENAI_API_KEY") as caught:
            ask("openai:gpt-4o")
        assert key not in str(caught.value)
    health = models.health("openai", timeout_seconds=1)
    assert not health.ok
    assert key not in health.problem
    assert not transport.sent


def test_opencrab_itself_is_not_taken_for_a_model_server() -> None:
    settings = SETTINGS.with_provider(ProviderSettings("llamacpp", "llamacpp"))
    problem = {"content-type": "application/problem+json"}
    for status, headers, told in ((401, problem, True), (404, problem, True), (401, {}, False)):
        transport = Replying(b"{}", status=status, headers=headers)
        models = ProviderModels(lambda: settings, partial(replace, transport))
        health = models.health("llamacpp", timeout_seconds=1)
        assert not health.ok
        assert ("OpenCrab" in health.problem) is told
        assert ("--port" in health.cure) is told


def test_an_unsafe_address_is_refused_before_anything_is_sent() -> None:
    provider = ProviderSettings("海", "openai", "http://sea.example/v1", default_model="crab")
    models, transport = models_and_transport(SETTINGS.with_provider(provider))
    with pytest.raises(Invalid, match="https"):
        models.get("海")
    assert not transport.sent


@pytest.mark.parametrize(
    ("kind", "base_url", "address"),
    [
        ("llamacpp", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("llamacpp", "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("llamacpp", "http://crab.local/llama", "http://crab.local/llama/v1"),
        ("llamacpp", "", "http://localhost:8080/v1"),
        ("ollama", "http://localhost:11434", "http://localhost:11434"),
        ("ollama", "http://localhost:11434/v1/", "http://localhost:11434"),
        ("ollama", "https://crab.example/ollama//v1", "https://crab.example/ollama"),
        ("google", "", "https://generativelanguage.googleapis.com/v1beta"),
    ],
)
def test_each_kind_is_asked_below_its_own_path(kind: str, base_url: str, address: str) -> None:
    assert address_of_provider(ProviderSettings("p", kind, base_url)) == address
