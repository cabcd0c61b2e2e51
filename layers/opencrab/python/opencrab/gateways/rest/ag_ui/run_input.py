"""The input of a run, read strictly as far as it is used.

Source of the format: `@ag-ui/core` 1.0, `RunAgentInput`. What agents have no use for, such as the
tools of the page, is not looked at.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.conversation.attachment import PICTURE_BYTES, PICTURES
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import Language
from opencrab.gateways.rest.http.body import strict_http_json_body
from opencrab.ports.texts import Texts

PROTOCOL = "1.0"

_ID_CHARACTERS = 1_000
_MOST_RESUMED = 16
_TEXTS = Texts(__file__)


@dataclass(frozen=True)
class AgUiAnswer:
    """An answer to an interrupt: whether the call that waits may run."""

    interrupt_id: str
    approved: bool
    argument_hash: str | None = None


@dataclass(frozen=True)
class AgUiInput:
    """What a run is asked for: the newest message of its thread, or answers to interrupts."""

    thread_id: str
    run_id: str
    state: Any = None
    message_id: str = ""
    text: str = ""
    pictures: tuple[bytes, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    resume: tuple[AgUiAnswer, ...] = field(default=())

    def words(self, language: Language) -> str:
        """Return the text of the message, after what the page says of itself."""
        if not self.context:
            return self.text
        told = "\n".join(f"{name}: {value}" for name, value in self.context)
        head, now = (_TEXTS[part][language] for part in ("context", "now"))
        return f"{head}\n\n{told}\n\n{now}\n\n{self.text}"


def read_ag_ui_input(content: bytes) -> AgUiInput:
    """Parse the body of a request; raises Invalid and TooLarge."""
    given = strict_http_json_body(content)
    if not isinstance(given, dict):
        raise _invalid("body", "the body is no RunAgentInput", "send a JSON object")
    ids = {name: _text(given, name, name) for name in ("threadId", "runId")}
    resume = _list(given, "resume")
    found = AgUiInput(ids["threadId"], ids["runId"], given.get("state"))
    if resume:
        if len(resume) > _MOST_RESUMED:
            raise _invalid("resume", f"resume has {len(resume)} entries", "send one")
        answers = tuple(_resume(each, f"resume.{n}") for n, each in enumerate(resume))
        return AgUiInput(found.thread_id, found.run_id, found.state, resume=answers)
    messages = _list(given, "messages")
    last = messages[-1] if messages else None
    where = f"messages.{len(messages) - 1}"
    if not isinstance(last, dict) or last.get("role") != "user":
        raise _invalid("messages", "the last message is not one of the user", "add one, or resume")
    text, pictures = _content(last.get("content"), f"{where}.content")
    if not (text.strip() or pictures):
        raise _invalid(f"{where}.content", "the last message is blank", "write text")
    context = tuple(
        _context(each, f"context.{n}") for n, each in enumerate(_list(given, "context"))
    )
    message_id = _text(last, "id", f"{where}.id")
    return AgUiInput(
        found.thread_id, found.run_id, found.state, message_id, text, pictures, context
    )


def _content(given: Any, where: str) -> tuple[str, tuple[bytes, ...]]:
    """Return text and pictures of a message."""
    if isinstance(given, str):
        return given, ()
    if not isinstance(given, list):
        raise _invalid(where, "content is neither a text nor a list of parts", "send a text")
    texts, pictures = list[str](), list[bytes]()
    for n, part in enumerate(given):
        place = f"{where}.{n}"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "image":
            pictures.append(_picture(part.get("source"), place))
        else:
            raise _invalid(place, "agents take no such part", "send parts of type text and image")
    if len(pictures) > PICTURES:
        raise _invalid(where, f"{len(pictures)} pictures are too many", f"send {PICTURES} at most")
    return "\n\n".join(texts), tuple(pictures)


def _picture(source: Any, where: str) -> bytes:
    if not isinstance(source, dict) or source.get("type") != "data":
        cure = 'send the picture itself: {"type": "data", "value": "…"}'
        raise _invalid(where, "pictures at addresses are not fetched", cure)
    value = str(source.get("value", ""))
    if len(value) > PICTURE_BYTES * 2:
        raise TooLarge(f"a picture has more than {PICTURE_BYTES:,} bytes", field=where)
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise _invalid(where, "a picture is not base64", "encode its bytes as base64") from None


def _context(given: Any, where: str) -> tuple[str, str]:
    if not isinstance(given, dict) or "value" not in given:
        raise _invalid(where, "context has entries without a value", "send description and value")
    value = given["value"]
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return str(given.get("description", "")), said


def _resume(given: Any, where: str) -> AgUiAnswer:
    if not isinstance(given, dict) or given.get("status") not in {"resolved", "cancelled"}:
        raise _invalid(where, "status is neither resolved nor cancelled", "send one of them")
    interrupt_id = _text(given, "interruptId", f"{where}.interruptId")
    if given["status"] == "cancelled":
        return AgUiAnswer(interrupt_id, approved=False)
    payload = given.get("payload")
    approved = payload.get("approved") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(approved, bool):
        cure = 'send {"approved": true} or {"approved": false}'
        raise _invalid(f"{where}.payload", "the payload decides nothing", cure)
    if "editedArgs" in payload:
        raise _invalid(f"{where}.payload", "a call is decided as it is", "omit editedArgs")
    named = payload.get("argumentHash")
    return AgUiAnswer(interrupt_id, approved, None if named is None else str(named))


def _text(given: Mapping[str, Any], name: str, where: str) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not 0 < len(found) <= _ID_CHARACTERS:
        raise _invalid(where, f"{name} is no text of 1 to {_ID_CHARACTERS} characters", "send one")
    return found


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    found = given.get(name) or []
    if not isinstance(found, list):
        raise _invalid(name, f"{name} is no list", "send a list")
    return found


def _invalid(where: str, what: str, cure: str) -> Invalid:
    return Invalid(what, field=where, cure=cure)
