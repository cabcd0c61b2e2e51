"""Responses as OpenAI's clients ask for them.

Source of the format: OpenAI's API reference, "Responses". Fields that choose how a model answers
are accepted and change nothing: an agent has settings of its own.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.domain.client_tools import ClientTools
from opencrab.domain.errors import Invalid
from opencrab.domain.name import NewName
from opencrab.gateways.rest.openai.client_messages import ClientMessage, ClientMessages
from opencrab.gateways.rest.openai.client_tools import client_tools_of_request
from opencrab.gateways.rest.openai.messages import MESSAGES, ClientRequestPart

_TEXTS = ("input_text", "output_text", "text", "refusal")
_IGNORED = ("reasoning",)
_OMIT = "omit it: agents use their own actions, and answer in words"


class ResponseInputPart(ClientRequestPart, defer_build=False):
    """A part of a message: text, or a picture."""

    type: str
    text: str = ""
    image_url: str | None = None


class ResponseInputItem(ClientRequestPart, defer_build=False):
    """An item of the conversation; of the kinds that there are, agents understand messages."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | Annotated[tuple[ResponseInputPart, ...], Field(max_length=100)] | None = None
    call_id: Annotated[str, Field(max_length=200)] | None = None
    output: str | Annotated[tuple[ResponseInputPart, ...], Field(max_length=100)] | None = None


class ResponseRequest(ClientRequestPart, defer_build=False):
    """New messages behind a response, or a whole conversation."""

    model: Annotated[str, Field(min_length=1, max_length=264)] = Field(
        description="an agent: its id, or its name if no other agent has it"
    )
    input: str | Annotated[tuple[ResponseInputItem, ...], Field(min_length=1, max_length=MESSAGES)]
    instructions: str | None = Field(
        default=None,
        description="passed to the agent as words of the user, and again when they change",
    )
    previous_response_id: Annotated[str, Field(max_length=80)] | None = Field(
        default=None, description="the response after which the conversation goes on"
    )
    stream: bool | None = None
    background: bool | None = Field(
        default=None, description="answer at once; the response is read by its id later"
    )
    user: NewName | None = Field(
        default=None, description="the name of the person who talks; by default that of the key"
    )
    metadata: dict[str, str] | None = None
    tools: Annotated[tuple[Any, ...], Field(max_length=1_000)] | None = Field(
        default=None, description="functions that the client runs when the agent calls them"
    )
    tool_choice: Any = Field(default=None, description="auto or none")
    parallel_tool_calls: bool | None = None
    conversation: Any = None
    prompt: Any = None
    text: dict[str, Any] | None = None

    def require_supported(self) -> None:
        """Raise Invalid for what would be missing in the answer."""
        formatted = (self.text or {}).get("format") or {}
        asked = {
            "text": not isinstance(formatted, dict) or formatted.get("type", "text") != "text",
            "conversation": self.conversation is not None,
            "prompt": self.prompt is not None,
        }
        for name, is_asked in asked.items():
            if is_asked:
                cure = "use previous_response_id" if name == "conversation" else _OMIT
                raise Invalid(f"{name} is not supported here", field=name, cure=cure)

    def client_tools(self) -> ClientTools | None:
        """Return the tools that the client runs, None if there are none; raises Invalid."""
        return client_tools_of_request(
            self.tools, self.tool_choice, parallel=self.parallel_tool_calls
        )

    def conversation_messages(self) -> ClientMessages:
        """Return the messages; raises Invalid for items that agents do not understand."""
        sent = self.input
        items = (ResponseInputItem(role="user", content=sent),) if isinstance(sent, str) else sent
        return ClientMessages(
            tuple(_message(each) for each in items if each.type not in _IGNORED),
            field="input",
            instructions=self.instructions or "",
            user=str(self.user or ""),
        )


def _message(item: ResponseInputItem) -> ClientMessage:
    if item.type == "function_call":
        return ClientMessage("assistant", "")
    if item.type == "function_call_output":
        return _result(item)
    if item.type != "message" or item.role is None:
        raise Invalid(
            f"items of the type {item.type[:40]!r} are not supported here",
            field="input",
            cure="send messages with a role: agents use their own actions",
        )
    if item.content is None or isinstance(item.content, str):
        return ClientMessage(item.role, item.content or "")
    _check_parts(item.content, "input_image")
    return ClientMessage(
        item.role,
        "\n".join(part.text for part in item.content if part.type in _TEXTS),
        tuple(part.image_url or "" for part in item.content if part.type == "input_image"),
    )


def _result(item: ResponseInputItem) -> ClientMessage:
    if not item.call_id or item.output is None:
        raise Invalid(
            "a function_call_output has no call_id or no output", field="input", cure="add both"
        )
    if isinstance(item.output, str):
        return ClientMessage("tool", item.output, call_id=item.call_id)
    _check_parts(item.output)
    text = "\n".join(part.text for part in item.output)
    return ClientMessage("tool", text, call_id=item.call_id)


def _check_parts(parts: tuple[ResponseInputPart, ...], *more: str) -> None:
    """Raise Invalid for a part that is no text, nor of one of these types."""
    for part in parts:
        if part.type not in {*_TEXTS, *more}:
            raise Invalid(
                f"parts of the type {part.type[:40]!r} are not supported here",
                field="input",
                cure=f"send parts of the types {' and '.join(('input_text', *more))}",
            )
