"""The real model that the environment names, put together as `opencrab up` puts it together.

OPENCRAB_LIVE_PROVIDER and OPENCRAB_LIVE_MODEL name it; its key comes from where OpenCrab finds it.
OPENCRAB_LIVE_EMBEDDING names a model of the provider for embeddings. OPENCRAB_LIVE_RANDOM=1 says
that the model was never trained, so that what it says is not judged, only how.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    ProviderSettings,
    provider_catalogue_settings,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ModelInfo,
)

WEATHER = ActionSchema(
    name="get_weather",
    description="The weather of a city now. 都市の今の天気。",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 40, "description": "Its name in English"}
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
SECONDS = 60.0


@dataclass(frozen=True)
class Live:
    """One model of a real provider, and what may be expected of it."""

    known: ModelsSettings
    provider: ProviderSettings
    model: str
    transport: Transport = field(repr=False)
    is_random: bool = False

    @property
    def name(self) -> str:
        """The model as people name it."""
        return f"{self.provider.name}:{self.model}"

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        return self.chat_model().info

    def models(self, **changes: Any) -> ProviderModels:
        """The models of an installation whose provider is changed so."""
        provider = replace(self.provider, **changes)
        wanted = self.known.with_provider(provider).with_single_model(self.name)
        return ProviderModels(lambda: wanted, lambda: self.transport)

    def chat_model(self, **changes: Any) -> ChatModel:
        """The model, of a provider that is changed so."""
        return self.models(**changes).get(self.name)

    def chat(self, request: ChatRequest) -> ModelAnswer:
        """The answer to a request."""
        model = self.chat_model()
        return model.chat(request, model.encode(request))

    def asked(self, text: str, *more: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
        """A request with few words; a model that thinks needs room for its thoughts as well."""
        wanted = {
            "model": self.model,
            "actions": (),
            "system": "You are a crab who answers briefly. 短く答える蟹です。",
            "turns": (ChatMessage("user", text, name="rin"), *more),
            "max_output_tokens": min(200 if self.info.temperature else 2_000, self._most_output),
            "timeout_seconds": SECONDS,
        }
        return ChatRequest(**{**wanted, **changes})

    def acting(self, text: str, **changes: Any) -> ChatRequest:
        """A request whose answer must be a call."""
        return self.asked(text, **{"actions": (WEATHER,), "require_action": True, **changes})

    @property
    def embedding(self) -> str:
        """The model for embeddings; empty when none of this provider is named."""
        if given := os.environ.get("OPENCRAB_LIVE_EMBEDDING"):
            return f"{self.provider.name}:{given}"
        configured = self.known.uses.get(Use.EMBEDDING, "")
        return configured if configured.partition(":")[0] == self.provider.name else ""

    @property
    def _most_output(self) -> int:
        return self.info.max_output_tokens


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    """The named model; skips, and says why, when none is named or something is missing."""
    provider_name = os.environ.get("OPENCRAB_LIVE_PROVIDER", "")
    model = os.environ.get("OPENCRAB_LIVE_MODEL", "")
    if not provider_name or not model:
        pytest.skip("name a model in OPENCRAB_LIVE_PROVIDER and OPENCRAB_LIVE_MODEL")
    configured = settings.load_settings({})
    known = provider_catalogue_settings(
        configured.table("llm"),
        configured.pricing,
        configured.absent_below("llm.providers"),
        listing=settings.public_prices_of_settings,
    )
    scripted = ProviderSettings(name="scripted", kind="scripted")
    provider = {"scripted": scripted, **known.providers}.get(provider_name)
    if provider is None:
        pytest.fail(f"there is no provider {provider_name!r}: use one of {sorted(known.providers)}")
    is_random = os.environ.get("OPENCRAB_LIVE_RANDOM", "") == "1" or provider.kind == "scripted"
    with HttpConnections() as client:
        found = Live(known, provider, model, HttpTransport(client), is_random)
        state = next(each for each in found.models().providers() if each.name == provider_name)
        if state.missing:
            pytest.skip(f"{provider_name} cannot be asked: {state.missing} is missing")
        yield found


@pytest.fixture
def remote(live: Live) -> Live:
    """The named model, if there is a network between it and us."""
    if live.provider.kind == "scripted":
        pytest.skip("the scripted model has no server, no key and no limits")
    return live


@pytest.fixture(scope="session")
def opensearch_endpoint() -> str:
    """The address of a collection of OpenSearch Serverless that this computer's role may use."""
    endpoint = os.environ.get("OPENCRAB_LIVE_OPENSEARCH", "")
    if not endpoint:
        pytest.skip(
            "name a collection in OPENCRAB_LIVE_OPENSEARCH, and its stage in OPENCRAB_LIVE_STAGE"
        )
    return endpoint


@pytest.fixture(scope="session")
def stage() -> str:
    """What the indexes that the role may use begin with."""
    return os.environ.get("OPENCRAB_LIVE_STAGE", "main")
