"""What is asked of a llama.cpp server, through each of the formats that it speaks."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings
from opencrab.adapters.providers.llamacpp.endpoint import LlamaCppWire
from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    Transport,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint, Wire
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import FREE
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import (
    UNWATCHED,
    ActionSchema,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ModelInfo,
    Models,
)
from tests.llama.server import LlamaServer

KEY = "sk-secret-of-the-crab"
MODEL = "tiny"
SPEAK = ActionSchema(
    name="send_speech",
    description="Say something to everybody. 皆に話します。",
    parameters={
        "type": "object",
        "properties": {
            "content": {"type": "string", "maxLength": 40},
            "tone": {"enum": ["calm", "glad"]},
        },
        "required": ["content", "tone"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True)
class Format:
    """One of the formats that the server speaks, as a kind of provider and as its wire.

    `length` and `called` are its words for an answer that was cut, and for one with calls.
    """

    kind: str
    wire: Callable[[], Wire]
    length: str
    called: str

    def endpoint(self, server: LlamaServer, key: str = "") -> Endpoint:
        """Where this format is spoken."""
        url = server.url if self.kind == "anthropic" else f"{server.url}/v1"
        return Endpoint(self.kind, url, key, key_name=f"{self.kind.upper()}_API_KEY")

    def model(
        self, server: LlamaServer, transport: Transport, *, stream: bool = True, key: str = ""
    ) -> VendorModel:
        """The model behind this format."""
        info = ModelInfo(name=f"{self.kind}:{MODEL}", price=FREE)
        endpoint = self.endpoint(server, key)
        return VendorModel(self.wire(), endpoint, MODEL, info, transport, stream=stream)

    def settings(self, server: LlamaServer) -> ModelsSettings:
        """What an owner configures who thinks with this server and with nothing else."""
        provider = ProviderSettings(
            name=self.kind, kind=self.kind, base_url=server.url, private=True
        )
        tokens = server.context_tokens
        facts = ModelSettings(max_input_tokens=tokens, max_output_tokens=200, price=FREE)
        settings = ModelsSettings().with_provider(provider)
        return settings.with_model(f"{self.kind}:{MODEL}", facts).with_single_model(
            f"{self.kind}:{MODEL}"
        )


OPENAI = Format("llamacpp", LlamaCppWire, length="length", called="tool_calls")
ANTHROPIC = Format("anthropic", AnthropicWire, length="max_tokens", called="tool_use")
RESPONSES = Format("responses", ResponsesWire, length="completed", called="completed")
FORMATS = (OPENAI, ANTHROPIC)
"""What a whole installation thinks with; the Responses API is for single models of OpenAI's."""


@dataclass(frozen=True)
class Parting:
    """A transport that keeps no connection: this server hangs up after a stream.

    LlamaCppWire knows that; whoever speaks to it in another vendor's format may not.
    """

    transport: Transport

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        alone = {**headers, "connection": "close"}
        return self.transport.send(url, headers=alone, body=body, timeout_seconds=timeout_seconds)

    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> AbstractContextManager[OpenReply]:
        alone = {**headers, "connection": "close"}
        return self.transport.open(
            url,
            headers=alone,
            body=body,
            timeout_seconds=timeout_seconds,
            is_stopped=is_stopped,
        )


def asked(*turns: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
    """A request; the changes are its fields."""
    wanted = {
        "model": MODEL,
        "actions": (),
        "system": "You are a crab. あなたは蟹です。",
        "turns": turns or (ChatMessage("user", "元気ですか？ How are you? 🦀", name="rin"),),
        "max_output_tokens": 64,
        "timeout_seconds": 60.0,
    }
    return ChatRequest(**{**wanted, **changes})


def acting(**changes: Any) -> ChatRequest:
    """A request whose answer must be a call."""
    wanted = {"actions": (SPEAK,), "require_action": True, "max_output_tokens": 200}
    return asked(**{**wanted, **changes})


@dataclass
class Demanding:
    """Models that must act at the first step of a turn: a random one would not know when to.

    `answers` are all that came back.
    """

    models: Models
    answers: list[ModelAnswer] = field(default_factory=list)

    @property
    def routing(self) -> Routing:
        return self.models.routing

    def get(self, name: str | None) -> ChatModel:
        return _Demanded(self.models.get(name), self.answers)

    def refresh(self, version: int) -> None:
        self.models.refresh(version)


@dataclass(frozen=True)
class _Demanded:
    model: ChatModel
    answers: list[ModelAnswer]

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        """The first step demands a call; afterwards there is nothing left to call."""
        if any(isinstance(turn, CallReturn) for turn in request.turns):
            return self.model.encode(replace(request, actions=()))
        return self.model.encode(replace(request, require_action=True))

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self.answers.append(self.model.chat(request, body))
        return self.answers[-1]
