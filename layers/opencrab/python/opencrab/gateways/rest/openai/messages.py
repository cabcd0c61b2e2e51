"""Chat completions as OpenAI's clients write and read them: requests and answers.

Source of the format: OpenAI's API reference, "Chat Completions". Fields that choose how a model
answers, such as `temperature`, are accepted and change nothing: an agent has settings of its own.
"""

import base64
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from opencrab.domain.conversation.attachment import PICTURE_BYTES, PICTURES
from opencrab.domain.conversation.client_transcript import (
    ClientTranscript,
    TranscriptLine,
    TranscriptSpeaker,
)
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.money.budget import Usage
from opencrab.domain.name import NewName
from opencrab.domain.value import Value

MESSAGES = 10_000

_OF_ROLES = {"user": TranscriptSpeaker.USER, "assistant": TranscriptSpeaker.ASSISTANT}
_INSTRUCTING = ("system", "developer")
_LATER = "omit it: agents use their own actions, and answer in words"


class _Sent(Value):
    """A value that clients send with fields that nothing here needs."""

    model_config = ConfigDict(extra="ignore")


class PictureAddress(_Sent, defer_build=False):
    """The address of a picture: a data URL with the picture itself."""

    url: str


class ContentPart(_Sent, defer_build=False):
    """A part of a message: text, or a picture."""

    type: str
    text: str = ""
    image_url: PictureAddress | None = None


class ChatCompletionMessage(_Sent, defer_build=False):
    """A message of the conversation; `role` says whose it is."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[tuple[ContentPart, ...], Field(max_length=100)] | None = None


class StreamOptions(_Sent, defer_build=False):
    """What a streamed answer has besides its words."""

    include_usage: bool = False


class ChatCompletionRequest(_Sent, defer_build=False):
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
    tools: tuple[Any, ...] | None = None
    functions: tuple[Any, ...] | None = None
    response_format: dict[str, Any] | None = None
    modalities: tuple[str, ...] | None = None

    def require_supported(self) -> None:
        """Raise Invalid for what would be missing in the answer."""
        asked = {
            "n": self.n not in {None, 1},
            "tools": bool(self.tools),
            "functions": bool(self.functions),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
            "modalities": "audio" in (self.modalities or ()),
        }
        for name, is_asked in asked.items():
            if is_asked:
                raise Invalid(f"{name} is not supported here", field=name, cure=_LATER)

    def pictures(self) -> tuple[bytes, ...]:
        """Return the pictures of the newest messages of the user; raises Invalid, TooLarge."""
        newest = self.messages[len(_messages_until_answer(self.messages)) :]
        found = [_picture(part) for each in newest for part in _pictures_of(each)]
        if len(found) > PICTURES:
            raise Invalid(
                f"{len(found)} pictures are too many for one message",
                field="messages",
                cure=f"send at most {PICTURES} pictures with each message",
            )
        return tuple(found)

    def transcript(self) -> ClientTranscript:
        """Return the conversation; raises Invalid unless it ends with words of the user."""
        for message in self.messages:
            if message.role in {"tool", "function"}:
                raise Invalid(
                    f"messages of the role {message.role} are not supported here",
                    field="messages",
                    cure="leave them out: agents use their own actions",
                )
        lines = tuple(
            TranscriptLine(
                role=_OF_ROLES[each.role],
                text=_text(each),
                pictures=tuple(
                    content_hash(part.image_url.url.encode())
                    for part in _pictures_of(each)
                    if part.image_url
                ),
            )
            for each in self.messages
            if each.role in _OF_ROLES
        )
        told = "\n\n".join(_text(each) for each in self.messages if each.role in _INSTRUCTING)
        transcript = ClientTranscript(
            lines=lines, instructions=told.strip(), user=str(self.user or "")
        )
        if not any(line.text.strip() or line.pictures for line in transcript.said):
            raise Invalid(
                "the last message is not one of the user, or it is blank",
                field="messages",
                cure='end the list with {"role": "user", "content": "…"}',
            )
        return transcript


class ChatReply(Value):
    """The message of an answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(Value):
    """The only answer of a completion."""

    index: int = 0
    message: ChatReply
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


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
            prompt_tokens_details={"cached_tokens": sum(each.cached_tokens for each in calls)},
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


def _messages_until_answer(
    messages: tuple[ChatCompletionMessage, ...],
) -> tuple[ChatCompletionMessage, ...]:
    places = [place for place, each in enumerate(messages, 1) if each.role == "assistant"]
    return messages[: places[-1]] if places else ()


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


def _pictures_of(message: ChatCompletionMessage) -> tuple[ContentPart, ...]:
    if message.content is None or isinstance(message.content, str):
        return ()
    return tuple(part for part in message.content if part.type == "image_url")


def _picture(part: ContentPart) -> bytes:
    url = part.image_url.url if part.image_url else ""
    head, _, content = url.partition(",")
    if not (head.startswith("data:image/") and head.endswith(";base64")):
        raise Invalid(
            "pictures at addresses are not fetched",
            field="messages",
            cure="send the picture itself: data:image/png;base64,…",
        )
    if len(content) > PICTURE_BYTES * 2:
        raise TooLarge(
            f"a picture has more than {PICTURE_BYTES:,} bytes", field="messages", cure="shrink it"
        )
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        raise Invalid(
            "a picture is not base64", field="messages", cure="encode its bytes as base64"
        ) from None
