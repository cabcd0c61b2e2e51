"""Wishes: what a client may ask for over a WebSocket, read strictly from one text frame."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Identifier, MessageText, Value, is_json_value
from opencrab.engine.conversation.live import WatchTarget

FRAME_BYTES = 32_768
"""Largest frame of a client; API Gateway takes none that is larger."""

_LAST = 9_999_999_998
_SHOWN = 60
_NAMES = "ping, subscribe, unsubscribe, message or mentor"

WishId = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]
"""A client's name for what it asks, which the answer repeats."""


class Ping(Value):
    """A request that checks the connection."""

    type: Literal["ping"]
    id: WishId | None = None


class _AboutOne(Value):
    id: WishId | None = None
    session_id: Identifier | None = None
    agent_id: Identifier | None = None

    @model_validator(mode="after")
    def _names_one(self) -> "_AboutOne":
        if (self.session_id is None) is (self.agent_id is None):
            raise ValueError("exactly one of session_id and agent_id is required: send one")
        return self

    @property
    def watched(self) -> WatchTarget:
        """The session or agent to watch."""
        if self.session_id is not None:
            return WatchTarget(kind="session", id=self.session_id)
        return WatchTarget(kind="agent", id=str(self.agent_id))


class Subscribe(_AboutOne):
    """A request to watch a session, after a line or from now on, or an agent's actions."""

    type: Literal["subscribe"]
    after: Annotated[int, Field(ge=0, le=_LAST)] | None = None
    kinds: Annotated[tuple[LineKind, ...], Field(min_length=1, max_length=10)] | None = None


class Unsubscribe(_AboutOne):
    """A request to end a watch."""

    type: Literal["unsubscribe"]


class Say(Value):
    """A message to everybody in a session; the same id again is the same message."""

    type: Literal["message"]
    id: WishId
    session_id: Identifier
    text: MessageText


class MentorRequest(Value):
    """An instruction to a session's agents; the same id again is the same instruction."""

    type: Literal["mentor"]
    id: WishId
    session_id: Identifier
    text: MessageText


WebSocketRequest = Ping | Subscribe | Unsubscribe | Say | MentorRequest

_WISH: TypeAdapter[WebSocketRequest] = TypeAdapter(
    Annotated[WebSocketRequest, Field(discriminator="type")]
)
_ID: TypeAdapter[str] = TypeAdapter(WishId)


def websocket_frame_id(text: str) -> str | None:
    """Return the id of a frame, even if the rest of it is invalid."""
    try:
        value = json.loads(text)
        return _ID.validate_python(value["id"], strict=True) if isinstance(value, dict) else None
    except (ValueError, KeyError, RecursionError):
        return None


def read_websocket_frame(text: str) -> WebSocketRequest:
    """Parse the request in a frame; raises Invalid, TooLarge."""
    if len(text.encode(errors="replace")) > FRAME_BYTES:
        raise _too_large_frame_error()
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise Invalid("the frame is not JSON", cure="send one JSON object in each frame") from None
    if not isinstance(value, dict) or not is_json_value(value):
        raise Invalid(
            "the frame is not a valid JSON object", cure="send one JSON object in each frame"
        )
    try:
        return _WISH.validate_json(text, strict=True)
    except ValidationError as error:
        raise _invalid_request_error(error) from None


def _too_large_frame_error() -> TooLarge:
    """Return the error for a frame above the size limit."""
    return TooLarge(f"a frame has more than {FRAME_BYTES} bytes", cure="send a smaller frame")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict[str, Any]()
    for name, inner in pairs:
        if name in value:
            raise Invalid(
                f"a JSON object of the frame has the name {name[:_SHOWN]!r} twice",
                cure="send each name once",
            )
        value[name] = inner
    return value


def _invalid_request_error(error: ValidationError) -> Invalid:
    """Return the first validation error, without repeating what was sent."""
    from opencrab.gateways.language.validation_texts import (  # noqa: PLC0415 - seldom needed
        explain_validation_error,
    )

    first = error.errors(include_url=False)[0]
    kind, place = str(first["type"]), [part for part in first["loc"] if isinstance(part, str)]
    if kind.startswith("union_tag"):
        return Invalid("the type is missing or unknown", field="type", cure=f"send {_NAMES}")
    field = place[1] if len(place) > 1 and place[1].isidentifier() else None
    if kind == "extra_forbidden":
        return Invalid("unknown field", field=field, cure="remove it")
    told, cure = explain_validation_error(first)
    return Invalid(
        f"{field}: {told}" if field else told,
        field=field,
        cure=cure or "correct it; docs/reference/events.md lists the requests",
    )
