"""Talk: what a client asks over a WebSocket and what it is answered, the same in every home."""

from collections.abc import Callable
from typing import Any, Protocol

from opencrab.domain.access.authority import Scope, Source, authority
from opencrab.domain.access.policy import Verb
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import (
    Audience,
    Instruction,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
)
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Language
from opencrab.engine.access.visibility import require_session_access
from opencrab.engine.conversation.live import (
    VisibleKinds,
    WatchTarget,
    require_watch_of_conversation,
    visible_conversation_line_kinds,
)
from opencrab.engine.conversation.live_events import Event
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_guidance_for_turns, admit_turns_of_message
from opencrab.gateways.language.error_texts import error_text_in
from opencrab.gateways.websocket import requests
from opencrab.gateways.websocket.requests import (
    MentorRequest,
    Ping,
    Say,
    Subscribe,
    Unsubscribe,
    WebSocketRequest,
)
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home


class Watches(Protocol):
    """The watches of one connection, wherever they are stored."""

    def begin(self, watched: WatchTarget, visible: VisibleKinds, after: int | None) -> int:
        """Begin to watch; returns the position after which lines are sent.

        Raises NotFound, Invalid, Refused.
        """

    def end(self, watched: WatchTarget) -> bool:
        """End a watch; returns whether there was one."""


def answer_websocket_frame(
    runtime: Runtime,
    principal: Principal,
    watches: Watches,
    text: str,
    language: Callable[[], Language],
) -> Event:
    """Carry out a frame and return the answer, which may be an error event in `language`."""
    try:
        wish = requests.read_websocket_frame(text)
        found = _dispatch_request(runtime, principal, watches, wish)
    except OpenCrabError as error:
        return websocket_frame_problem(error, language(), requests.websocket_frame_id(text))
    return {"type": "pong" if isinstance(wish, Ping) else "answer", "id": wish.id, **found}


def websocket_frame_problem(
    error: OpenCrabError, language: Language, wish_id: str | None = None
) -> Event:
    """Convert an error to the event that a client receives."""
    message = error_text_in(language, error.message)
    cure = None if error.cure is None else error_text_in(language, error.cure)
    told = {"code": error.code, "message": message, "field": error.field, "cure": cure}
    shown = {name: value for name, value in told.items() if value is not None}
    return {"type": "error", "id": wish_id, **shown}


def _dispatch_request(
    runtime: Runtime, principal: Principal, watches: Watches, wish: WebSocketRequest
) -> dict[str, Any]:
    match wish:
        case Subscribe():
            return _begin_subscription(runtime.home, principal, watches, wish)
        case Unsubscribe():
            return {"subscribed": False, "was_subscribed": watches.end(wish.watched)}
        case Say():
            return _post_message(runtime, principal, wish)
        case MentorRequest():
            return _post_instruction(runtime.home, runtime.clock, principal, wish)
        case Ping():
            return {}


def _begin_subscription(
    home: Home, principal: Principal, watches: Watches, wish: Subscribe
) -> dict[str, Any]:
    principal.require(Scope.READ)
    require_watch_of_conversation(home, principal, wish.watched)
    sight = visible_conversation_line_kinds(wish.kinds, is_owner=principal.scope is Scope.OWNER)
    place = watches.begin(wish.watched, sight, wish.after)
    found: dict[str, Any] = {"subscribed": True}
    return found | {"after": place} if wish.watched.kind == "session" else found


def _post_message(runtime: Runtime, principal: Principal, wish: Say) -> dict[str, Any]:
    principal.require(Scope.CHAT)
    require_session_access(runtime.home, principal, wish.session_id, Verb.TAKE_PART)
    message = Message(
        source=Source.WEBSOCKET,
        source_id=wish.id,
        principal_id=principal.id,
        sender=Sender(id=principal.id, name=principal.name),
        authority=authority(Source.WEBSOCKET, principal.scope),
        parts=(TextPart(text=wish.text),),
    )
    turns = admit_turns_of_message(runtime, wish.session_id, message)
    return {"turn_ids": [turn.id for turn in turns], "message_id": turns[0].group}


def _post_instruction(
    home: Home, clock: Clock, principal: Principal, wish: MentorRequest
) -> dict[str, Any]:
    principal.require(Scope.OWNER)
    now, session_id = clock.now(), wish.session_id
    instruction_id = stable_id("instruction", principal.id, "websocket", session_id, wish.id)
    instruction = Instruction(
        id=instruction_id, session_id=session_id, text=wish.text, by=principal.id, at=now
    )
    line = Line(
        session_id=session_id,
        group=instruction_id,
        kind=LineKind.SYSTEM,
        audience=Audience.AGENTS,
        speaker_id=principal.id,
        speaker_name=principal.name,
        authority=authority(Source.WEBSOCKET, principal.scope),
        text=wish.text,
        message_id=instruction_id,
        at=now,
    )
    placed = admit_guidance_for_turns(home, instruction, line)
    return {"instruction_id": placed.id, "line": placed.line}
