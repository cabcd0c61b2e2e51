"""Language models, as the engine sees them: one request in, one answer out.

Each part of a prompt says whether words from outside are in it. Whoever writes one passes
PromptText, or mypy refuses it; a prompt is tainted if one of its parts is (Denning, "A Lattice
Model of Secure Information Flow", 1976).
"""

import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from opencrab.domain.agents.agent import Agent, agent_selectable_aliases
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.value import Value


class ActionSchema(Value):
    """An action as described to a model; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def as_json(self) -> str:
        """The schema as JSON, made once: it is in each prompt of each agent that has the action."""
        return self.model_dump_json()


class PromptText(str):
    """A part of a prompt, tainted unless somebody vouched for its words (`TrustedText`).

    What string methods return is a plain string again: label it, or use `join_prompt_texts`.
    """

    __slots__ = ()
    tainted = True


class TrustedText(PromptText):
    """A part of a prompt in words of OpenCrab, its configuration, its owner or a known user.

    Never use it for what an agent stored: such a record says itself whether it is tainted.
    """

    __slots__ = ()
    tainted = False


NO_TEXT: PromptText = TrustedText("")
"""Nothing, said by nobody."""

_VOUCHED: type[PromptText] = TrustedText

LABELS: dict[bool, type[PromptText]] = {True: PromptText, False: TrustedText}
"""Labels a text by whether its record is tainted."""


def label_text_for_model_call(text: str, *, tainted: bool) -> PromptText:
    """Label a text by whether its record is tainted."""
    return LABELS[tainted](text)


def join_texts_for_model_call(separator: str, parts: Iterable[PromptText]) -> PromptText:
    """Join the parts that are not empty; the whole is tainted if one of them is."""
    said, label = list[str](), _VOUCHED
    for part in parts:
        if part:
            said.append(part)
            label = PromptText if part.tainted else label
    return label(separator.join(said))


def fill_model_template(template: str, **facts: PromptText | float) -> PromptText:
    """Fill a template of our own with labelled texts and numbers, as `str.format` does."""
    label = _VOUCHED
    for fact in facts.values():
        if isinstance(fact, str) and fact.tainted:
            label = PromptText
    return label(template.format(**facts))


ASCII_PER_TOKEN = 3.5
OTHER_TOKENS = 1.1
"""Tokens per kana or kanji: measured encodings give 0.7 to 1.1, this is the upper end."""


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: 1 per 3.5 ASCII characters, 1.1 per 3-byte character."""
    length = len(text)
    other = (len(text.encode("utf-8", "replace")) - length) / 2
    return math.ceil((length - other) / ASCII_PER_TOKEN + other * OTHER_TOKENS)


@dataclass(frozen=True)
class Image:
    """A PNG, JPEG, GIF or WebP image in base64; `detail` is low, high or "" for the vendor's."""

    media_type: str
    data: str = field(repr=False)
    detail: str = ""


@dataclass(frozen=True)
class ChatMessage:
    """One message of the conversation; `name` distinguishes speakers.

    `replay` is `ModelAnswer.replay` of an assistant's message, for the vendor that wants it back.
    """

    role: Literal["user", "assistant"]
    text: str
    name: str = ""
    calls: tuple[ActionCall, ...] = ()
    images: tuple[Image, ...] = ()
    replay: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class CallReturn:
    """The result of a tool call, for the model."""

    call_id: str
    name: str
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """The content of one model call, in the order that suits prompt caches.

    The last of `turns` changes from call to call; all before it stays the same and only grows.
    `require_action` requires a tool call as the answer; it has no effect without actions. The
    engine leaves out what the model does not accept (`sampling_of_call`). Servers that can, hold an
    answer without actions to `answer_schema`, a JSON Schema. `reuse_seconds` is when the next
    request with the same beginning is expected; None if that is not known.
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
    top_p: float | None = None
    reasoning_effort: str | None = None
    answer_schema: Mapping[str, Any] | None = None
    reuse_seconds: float | None = None


class _MakeMessage(Protocol):
    def __call__(
        self,
        role: Literal["user", "assistant"],
        text: PromptText,
        *,
        name: str = "",
        calls: tuple[ActionCall, ...] = (),
        replay: Mapping[str, Any] | None = None,
    ) -> ChatMessage: ...


class _MakeReturn(Protocol):
    def __call__(self, call_id: str, name: str, content: PromptText) -> CallReturn: ...


class _MakeRequest(Protocol):
    def __call__(
        self,
        *,
        model: str,
        actions: tuple[ActionSchema, ...],
        system: PromptText,
        turns: tuple[ChatMessage | CallReturn, ...],
        max_output_tokens: int,
        stop: tuple[str, ...],
        timeout_seconds: float,
        **details: Any,
    ) -> ChatRequest: ...


labelled_message: _MakeMessage = ChatMessage
"""Makes a message; the label of its text covers its name and its calls as well."""

labelled_result: _MakeReturn = CallReturn
"""Makes the result of a call."""


labelled_request: _MakeRequest = ChatRequest  # type: ignore[assignment]
"""Makes a request; the engine makes messages, results and requests by these three names alone."""


def is_model_request_tainted(request: ChatRequest) -> bool:
    """Check whether words from outside are in a request; a text without a label counts as such."""
    if getattr(request.system, "tainted", True):
        return True
    for turn in request.turns:
        text = turn.content if isinstance(turn, CallReturn) else turn.text
        if getattr(text, "tainted", True):
            return True
    return False


@dataclass(frozen=True)
class ModelInfo:
    """The properties of a model; `price` None means unknown: such a model is not called.

    A `private` model runs where, as its owner says, no data leaves: it is never replaced by one
    that is not private. `hidden_tokens` is what a vendor adds to each request and bills, and
    `hidden_output_tokens` what the model may think beyond `max_output_tokens`, billed as well; an
    image costs at most `image_tokens`. `stop` says whether stop texts are supported, and
    `leading_blocks` whether the model begins its text with its thoughts, between tags; with
    `opened_block` its chat template writes the first tag. `responses` says that only OpenAI's
    Responses API serves it. `temperature` says whether it takes a temperature, of at most
    `most_temperature`, and top_p; `efforts` are the reasoning efforts that it takes, () for none,
    and with `thinking_budget` it takes a number of tokens instead.
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
    leading_blocks: bool = False
    opened_block: bool = False
    responses: bool = False
    most_temperature: int = 2
    efforts: tuple[str, ...] = ()
    thinking_budget: bool = False
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
    """One vector for each text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = field(default_factory=Usage)
    model: str = ""


SETTLE_BY_HAND = "see the provider's own bill, then settle the call with its cost"
"""What to do where a provider does not tell what a call cost."""


@dataclass(frozen=True)
class CallUsage:
    """What a provider tells of a call after its end; `usage` None is explained by `problem`."""

    usage: Usage | None
    problem: str = ""
    cure: str = ""


class AnswerWatch(Protocol):
    """Whoever follows a model call while its answer arrives, in the thread of the call."""

    def show(self, text: Callable[[], str]) -> None:
        """Take notice that more has arrived; `text` returns all of the answer's text so far.

        A later text may not begin with an earlier one: some models close a thought that they never
        opened.
        """

    def is_stopped(self) -> bool:
        """Check whether the call must end now; asked after each frame and while none arrives."""


class Unwatched:
    """An AnswerWatch for calls that nobody follows or stops."""

    def show(self, text: Callable[[], str]) -> None:
        """Do nothing."""

    def is_stopped(self) -> bool:
        """Return False."""
        return False


UNWATCHED: AnswerWatch = Unwatched()


class ChatModel(Protocol):
    """A chat model of a provider."""

    @property
    def info(self) -> ModelInfo:
        """The model's properties."""

    def encode(self, request: ChatRequest) -> bytes:
        """Encode the request as it is sent; its length bounds the reservation."""

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        """Send an encoded request and read the answer; raises only ModelCallFailed.

        Once `watch` is stopped, the connection is closed, and the text that has arrived is the
        answer. Its usage then has no input tokens unless the vendor has counted them, and at least
        as many output tokens as bytes have arrived. An answer that is complete is returned whole.
        """


class Embedder(Protocol):
    """An embedding model of a provider."""

    @property
    def info(self) -> ModelInfo:
        """The model's properties."""

    def embed(
        self, texts: tuple[str, ...], *, timeout_seconds: float, query: bool = False
    ) -> Embeddings:
        """Compute a vector for each text, a `query` or a document; raises only ModelCallFailed."""


class ModelNotFound(Invalid):
    """A name that is neither a provider nor an alias in the settings that were read last."""


class Models(Protocol):
    """The models that this installation can use."""

    @property
    def routing(self) -> Routing:
        """The present routing configuration."""

    def get(self, name: str | None) -> ChatModel:
        """Return a model by `provider:model`, alias or provider (None: default); raises Invalid."""

    def refresh(self, version: int) -> None:
        """Load the installation's preferences of this version, unless they are in use already."""


def selectable_model_choices(
    models: Models, agent: Agent, among: Container[str] | None = None
) -> dict[str, ModelInfo]:
    """Return the models that an agent may choose, by alias, limited to aliases in `among`.

    Each is configured and has a price, supports tool calls, and is private if the agent is.
    """
    found = dict[str, ModelInfo]()
    for alias in agent_selectable_aliases(agent, models.routing):
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
    """Return the models without repeats, each under the first of its aliases."""
    first = dict[str, str]()
    for alias, info in found.items():
        first.setdefault(info.name, alias)
    return {alias: found[alias] for alias in first.values()}


TOKENS_PER_MESSAGE = 8
"""The number of tokens that a provider adds around each message."""


def estimated_message_tokens(shown: Iterable[ChatMessage | CallReturn]) -> int:
    """Estimate the tokens of messages with what a provider adds around each."""
    total = 0
    for message in shown:
        if isinstance(message, CallReturn):
            total += estimated_tokens(message.content) + TOKENS_PER_MESSAGE
        else:
            total += estimated_tokens(message.text) + TOKENS_PER_MESSAGE
            for call in message.calls:
                total += estimated_tokens(call.arguments_as_json)
    return total
