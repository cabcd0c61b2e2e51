"""Language models, as the engine sees them: one request in, one answer out."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from opencrab.domain.money import Price
from opencrab.domain.record import Answer, Call
from opencrab.domain.value import Value


class ActionSchema(Value):
    """An action as a model is told of it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Said:
    """One contribution to the conversation; `name` tells people apart."""

    role: Literal["user", "assistant"]
    text: str
    name: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Returned:
    """What a call of the assistant came to."""

    call_id: str
    name: str
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """Everything one model call sends, in the order in which prompt caches like it.

    `require_action` demands that the answer be a call; it means nothing without actions.
    """

    model: str
    actions: tuple[ActionSchema, ...]
    system: str
    turns: tuple[Said | Returned, ...]
    max_output_tokens: int
    temperature: float | None = None
    timeout_seconds: float = 120.0
    require_action: bool = False


@dataclass(frozen=True)
class ModelInfo:
    """A model's name and limits; `price` None means unknown, and an unknown price is refused."""

    name: str
    max_input_tokens: int = 32_768
    max_output_tokens: int = 4_096
    max_total_tokens: int | None = None
    price: Price | None = None
    notes: tuple[str, ...] = field(default=())


class ChatModel(Protocol):
    """One model of one provider."""

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""

    def encode(self, request: ChatRequest) -> bytes:
        """The request as it goes over the wire; its length bounds the reservation."""

    def chat(self, request: ChatRequest, body: bytes) -> Answer:
        """Send an encoded request and read the answer.

        Raises NeverSent (nothing left, nothing was billed), Unavailable (it may have been billed),
        Invalid (the provider refused the request), Refused (key or permission).
        """


class Models(Protocol):
    """The models that this installation can think with."""

    def get(self, name: str | None) -> ChatModel:
        """A model by `provider:model`, or the default; raises Invalid naming what is missing."""
