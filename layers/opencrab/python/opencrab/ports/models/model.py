"""Language models, as the engine sees them: one request in, one answer out."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from opencrab.domain.agents.agent import Agent, selectable_aliases
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.value import Value


class ActionSchema(Value):
    """An action as a model is told of it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Image:
    """A picture with its bytes in base64; `media_type` is image/png, jpeg, gif or webp."""

    media_type: str
    data: str = field(repr=False)


@dataclass(frozen=True)
class ChatMessage:
    """One contribution to the conversation; `name` tells people apart.

    `replay` is `ModelAnswer.replay` of what the assistant said, for the vendor that wants it back.
    """

    role: Literal["user", "assistant"]
    text: str
    name: str = ""
    calls: tuple[ActionCall, ...] = ()
    images: tuple[Image, ...] = ()
    replay: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class CallReturn:
    """What a call of the assistant came to."""

    call_id: str
    name: str
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """Everything one model call sends, in the order in which prompt caches like it.

    The last of `turns` changes from call to call; all before it stays as it is and only grows.
    `require_action` demands that the answer be a call; it means nothing without actions.
    """

    model: str
    actions: tuple[ActionSchema, ...]
    system: str
    turns: tuple[ChatMessage | CallReturn, ...]
    max_output_tokens: int
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    timeout_seconds: float = 120.0
    require_action: bool = False


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model; `price` None means unknown, and an unknown price is refused.

    A `private` model runs where its owner says that nothing leaves: it is never replaced by one
    that is not. `hidden_tokens` is what a vendor adds to each request and bills, and
    `hidden_output_tokens` what it may think beyond `max_output_tokens` and bills as well; an image
    costs at most `image_tokens`. `stop` tells whether texts may be named at which it stops.
    """

    name: str
    max_input_tokens: int = 32_768
    max_output_tokens: int = 4_096
    max_total_tokens: int | None = None
    price: Price | None = None
    functions: bool = True
    vision: bool = False
    temperature: bool = True
    private: bool = False
    stop: bool = True
    hidden_tokens: int = 0
    hidden_output_tokens: int = 0
    image_tokens: int = 5_000
    notes: tuple[str, ...] = field(default=())

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class Embeddings:
    """One vector for each text, in their order."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = field(default_factory=Usage)
    model: str = ""


@dataclass(frozen=True)
class ProviderHealth:
    """Whether a provider answers at all; `models` are the ids that it lists, None if it cannot."""

    ok: bool
    latency_ms: int
    problem: str = ""
    cure: str = ""
    models: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ProviderState:
    """A provider as it is set up; `missing` is what it lacks, and empty when it can be used.

    `key_name` names the secret that its key is; it is empty where no key is taken.
    `configured_url` is where it is unless somebody says otherwise.
    """

    name: str
    kind: str
    base_url: str = ""
    enabled: bool = True
    private: bool = False
    has_key: bool = False
    missing: str = ""
    default_model: str = ""
    key_name: str = ""
    configured_url: str = ""


class ChatModel(Protocol):
    """One model of one provider."""

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""

    def encode(self, request: ChatRequest) -> bytes:
        """The request as it goes over the wire; its length bounds the reservation."""

    def chat(self, request: ChatRequest, body: bytes) -> ModelAnswer:
        """Send an encoded request and read the answer; raises ModelCallFailed, and nothing else."""


class Embedder(Protocol):
    """One model that turns texts into vectors."""

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""

    def embed(self, texts: tuple[str, ...], *, timeout_seconds: float) -> Embeddings:
        """A vector for each text; raises ModelCallFailed, and nothing else."""


class Models(Protocol):
    """The models that this installation can think with."""

    @property
    def routing(self) -> Routing:
        """How a model is chosen, as configured now."""

    def get(self, name: str | None) -> ChatModel:
        """A model by `provider:model`, alias or provider, or the default.

        Raises Invalid naming what is missing.
        """

    def refresh(self, version: int) -> None:
        """Take over the installation's preferences of this version, if they are not in use yet."""


def selectable_model_choices(
    models: Models, agent: Agent, among: Container[str] | None = None
) -> dict[str, ModelInfo]:
    """The models that an agent may choose, by alias: all of them, or those `among` some aliases.

    Each can be found and paid for, knows how to call actions, and is private where the agent is.
    """
    found = dict[str, ModelInfo]()
    for alias in selectable_aliases(agent, models.routing):
        if among is not None and alias not in among:
            continue
        try:
            info = models.get(alias).info
        except Invalid:
            continue
        usable = info.price is not None and info.functions
        if usable and (info.private or not agent.llm.private):
            found[alias] = info
    return found


def distinct_models(found: Mapping[str, ModelInfo]) -> dict[str, ModelInfo]:
    """The same models, each by the first of its aliases."""
    first = dict[str, str]()
    for alias, info in found.items():
        first.setdefault(info.name, alias)
    return {alias: found[alias] for alias in first.values()}


class ProviderDirectory(Protocol):
    """What else can be asked of the models, by people rather than by turns."""

    def infos(self) -> tuple[ModelInfo, ...]:
        """Every known model, by name."""

    def providers(self) -> tuple[ProviderState, ...]:
        """Every provider, by name."""

    def price(self, name: str) -> Price | None:
        """What a `provider:model` costs as far as anybody knows, set up or not."""

    def check(self, preferences: Preferences) -> None:
        """See that the providers could work so; raises Invalid, such as for an open address."""

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        """Ask a provider for its models, which costs nothing; raises NotFound."""

    def embedder(self, name: str | None) -> Embedder:
        """The model of use `embedding`, or the named one; raises Invalid."""
