"""An installation with providers of many kinds, and an owner who changes its settings."""

from collections.abc import Callable
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import Price
from opencrab.ports.models.model import ChatMessage, ChatModel, ChatRequest
from opencrab.ports.models.preferences import StoredPreferences
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
        "keyless": ProviderSettings("keyless", "anthropic", key_name="CLAUDE_KEY"),
        "off": ProviderSettings("off", "openai", "https://off.example", enabled=False),
    },
    models={"openai:gpt-4o-mini": ModelSettings(max_input_tokens=128_000, price=PRICE)},
    aliases={"速い": "ollama:llama3.1:8b", "最速": "速い", "円": "輪", "輪": "円"},
)


def models_and_transport(settings: ModelsSettings = SETTINGS) -> tuple[ProviderModels, Replying]:
    """Models, and the transport that nobody useful answers on."""
    transport = Replying(b"no answer at all")
    return ProviderModels(lambda: settings, lambda: transport), transport


def address_asked(model: ChatModel, transport: Replying) -> str:
    """The address to which a model sends a request."""
    request = ChatRequest("", (), "", (ChatMessage("user", "やあ"),), 5)
    with pytest.raises(ModelCallFailed):
        model.chat(request, model.encode(request))
    return transport.sent[-1].url


class Shelf:
    """Preferences that change, and a store that may be silent."""

    def __init__(self, **preferences: Any) -> None:
        self.stored = StoredPreferences(Preferences(**preferences))
        self.trouble: Exception | None = None
        self.reads = 0

    def __call__(self) -> StoredPreferences:
        self.reads += 1
        if self.trouble:
            raise self.trouble
        return self.stored

    def put(self, **preferences: Any) -> int:
        self.stored = StoredPreferences(Preferences(**preferences), self.stored.version + 1)
        return self.stored.version

    def models(self, configured: Callable[[], ModelsSettings] = lambda: SETTINGS) -> ProviderModels:
        return ProviderModels(configured, lambda: Replying(b""), stored=self)
