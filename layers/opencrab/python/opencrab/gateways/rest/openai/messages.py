"""Chat completions as OpenAI's clients write and read them: requests and answers.

Source of the format: OpenAI's API reference, "Chat Completions". Fields that choose how a model
answers, such as `temperature`, are accepted and change nothing: an agent has settings of its own.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from opencrab.domain.client_tools import ClientTools
from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import Usage
from opencrab.domain.name import NewName
from opencrab.domain.value import Value
from opencrab.gateways.rest.openai.client_messages import ClientMessage, ClientMessages
from opencrab.gateways.rest.openai.client_tools import client_tools_of_request
from opencrab.gateways.rest.openai.tool_calls import ToolCall

MESSAGES = 10_000

_LATER = "omit it: agents use their own actions, and answer in words"


class ClientRequestPart(Value):
    """A value that clients send with fields that nothing here needs."""

    model_config = ConfigDict(extra="ignore")


class PictureAddress(ClientRequestPart, defer_build=False):
    """The address of a picture: a data URL with the picture itself."""

    url: str


class ContentPart(ClientRequestPart, defer_build=False):
    """A part of a message: text, or a picture."""

    type: str
    text: str = ""
    image_url: PictureAddress | None = None


class ChatCompletionMessage(ClientRequestPart, defer_build=False):
    """A message of the conversation; `role` says whose it is."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: Annotated[str, Field(max_length=200)] | None = None
    content: str | Annotated[tuple[ContentPart, ...], Field(max_length=100)] | None = None


class StreamOptions(ClientRequestPart, defer_build=False):
    """What a streamed answer has besides its words."""

    include_usage: bool = False


class ChatCompletionRequest(ClientRequestPart, defer_build=False):
    """A conversation as its client has it, which ends with messages that have no answer yet."""

    model: Annotated[str, Field(min_length=1, max_length=264)] = Field(
        description="an agent: its id, or its name if no other agent has it"
    )
    messages: Annotated[tuple[ChatCompletionMessage, ...], Field(min_length=1, max_length=MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: NewName | None = Field(
        default=None, description="the name of the person who talks; by default that of the key"
    )
    n: int | None = None
    tools: Annotated[tuple[Any, ...], Field(max_length=1_000)] | None = Field(
        default=None, description="functions that the client runs when the agent calls them"
    )
    tool_choice: Any = Field(default=None, description="auto or none")
    parallel_tool_calls: bool | None = None
    functions: tuple[Any, ...] | None = None
    response_format: dict[str, Any] | None = None
    modalities: tuple[str, ...] | None = None

    def require_supported(self) -> None:
        """Raise Invalid for what would be missing in the answer."""
        asked = {
            "n": self.n not in {None, 1},
            "functions": bool(self.functions),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
            "modalities": "audio" in (self.modalities or ()),
        }
        for name, is_asked in asked.items():
            if is_asked:
                raise Invalid(f"{name} is not supported here", field=name, cure=_LATER)

    def client_tools(self) -> ClientTools | None:
        """Return the tools that the client runs, None if there are none; raises Invalid."""
        return client_tools_of_request(
            self.tools, self.tool_choice, parallel=self.parallel_tool_calls
        )

    def conversation(self) -> ClientMessages:
        """Return the messages; raises Invalid for those that agents do not understand."""
        for message in self.messages:
            if message.role == "function":
                raise Invalid(
                    "messages of the role function are not supported here",
                    field="messages",
                    cure="use tools, and messages of the role tool",
                )
            if message.role == "tool" and (not message.tool_call_id or _pictures_of(message)):
                raise Invalid(
                    "a message of the role tool has no tool_call_id, or has pictures",
                    field="messages",
                    cure="send the id of its call, and text",
                )
        return ClientMessages(
            tuple(
                ClientMessage(
                    each.role,
                    _text(each),
                    _pictures_of(each),
                    (each.tool_call_id or "") if each.role == "tool" else "",
                )
                for each in self.messages
            ),
            field="messages",
            user=str(self.user or ""),
        )


class ChatReply(Value):
    """The message of an answer."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)


class ChatChoice(Value):
    """The only answer of a completion."""

    index: int = 0
    message: ChatReply
    logprobs: None = None
    finish_reason: Literal["stop", "tool_calls"] = "stop"


class ChatUsage(Value):
    """Tokens of all model calls of a turn; agents think in several."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]
    completion_tokens_details: dict[str, int]

    @classmethod
    def of(cls, used: Iterable[Usage]) -> "ChatUsage":
        """Add up what was counted."""
        calls = tuple(used)
        read = sum(each.input_tokens for each in calls)
        written = sum(each.output_tokens for each in calls)
        return cls(
            prompt_tokens=read,
            completion_tokens=written,
            total_tokens=read + written,
            prompt_tokens_details={
                "cached_tokens": sum(each.cached_tokens for each in calls),
                "cache_write_tokens": sum(
                    each.cache_write_tokens + each.cache_write_long_tokens for each in calls
                ),
            },
            completion_tokens_details={
                "reasoning_tokens": sum(each.reasoning_tokens for each in calls)
            },
        )


class ChatCompletion(Value):
    """An agent's answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[ChatChoice, ...]
    usage: ChatUsage


def _text(message: ChatCompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.type not in {"text", "image_url", "refusal"}:
            raise Invalid(
                f"parts of the type {part.type[:40]!r} are not supported here",
                field="messages",
                cure="send parts of the types text and image_url",
            )
    return "\n".join(part.text for part in message.content if part.type == "text")


def _pictures_of(message: ChatCompletionMessage) -> tuple[str, ...]:
    if message.content is None or isinstance(message.content, str):
        return ()
    return tuple(
        part.image_url.url if part.image_url else ""
        for part in message.content
        if part.type == "image_url"
    )
