"""Parts of a client's message: texts and data as they are, files stored where agents see them.

Nothing is fetched: a part that names an address is refused, wherever that leads.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencrab.domain.a2a.protocol import A2aErrorCode
from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    PICTURES,
    AttachmentFault,
    judge_message_attachment,
    message_attachment_picture_type,
)
from opencrab.domain.conversation.message import PARTS, FilePart, ImagePart, Part, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.conversation.uploads import ALLOWED, store_session_upload
from opencrab.gateways.rest.a2a.client_request import A2aRequest
from opencrab.gateways.rest.a2a.errors import A2aError

INPUT_MODES = (
    *("text/plain", "text/markdown", "application/json"),
    *("image/png", "image/jpeg", "image/gif", "image/webp"),
)
"""Media types that a card names; other texts in UTF-8 are taken too."""

_KINDS = ("text", "data", "raw", "url")
_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")
_NAME_CHARACTERS = 200


@dataclass(frozen=True)
class A2aPart:
    """A checked part: a text, or the content of a file with its name; `data` is what it was."""

    text: str = ""
    content: bytes | None = None
    name: str = ""
    data: Any = None


def read_a2a_parts(given: Any) -> tuple[A2aPart, ...]:
    """Check the parts of a message; raises A2aError."""
    if not isinstance(given, list) or not 0 < len(given) <= PARTS:
        raise _params_error(f"parts must be a list of 1 to {PARTS} parts")
    parts = tuple(_part(each, place) for place, each in enumerate(given))
    pictures = sum(
        message_attachment_picture_type(each.content) is not None
        for each in parts
        if each.content is not None
    )
    if pictures > PICTURES:
        raise _params_error(
            f"{pictures} pictures are too many: send at most {PICTURES} in a message"
        )
    size = sum(len(each.text.encode()) for each in parts)
    if size > MESSAGE_BYTES:
        raise _params_error(
            f"the texts and data have {size} bytes, at most {MESSAGE_BYTES} fit in a message: "
            "send a long text as a file (raw)"
        )
    if not any(each.text.strip() or each.content for each in parts):
        raise _params_error("the message is blank: write text")
    return parts


def store_a2a_parts(
    asked: A2aRequest, session: Session, parts: Sequence[A2aPart], key: str
) -> tuple[Part, ...]:
    """Store the files among parts, once by the message's key, and return the parts for agents.

    Raises Invalid and TooLarge.
    """
    return tuple(
        _store_part(asked, session, each, stable_id("upload", key, str(place)))
        for place, each in enumerate(parts)
        if each.content is not None or each.text.strip()
    )


def _store_part(asked: A2aRequest, session: Session, part: A2aPart, upload_id: str) -> Part:
    if part.content is None:
        return TextPart(text=part.text)
    who = asked.caller.principal
    stored = store_session_upload(
        asked.runtime, session, upload_id, part.name, part.content, by=who
    )
    is_picture = stored.kind.kind == "image"
    return (ImagePart if is_picture else FilePart)(reference=stored.reference)


def _part(given: Any, place: int) -> A2aPart:
    where = f"parts[{place}]"
    if not isinstance(given, dict):
        raise _params_error(f"{where} must be an object")
    kinds = [kind for kind in _KINDS if given.get(kind) is not None]
    if len(kinds) != 1:
        raise _params_error(f"{where} must have exactly one of {', '.join(_KINDS)}")
    value, media_type = given[kinds[0]], _word(given, "mediaType", where)
    match kinds[0]:
        case "text":
            if not isinstance(value, str):
                raise _params_error(f"{where}.text must be a text")
            _require_textual(media_type, where)
            return A2aPart(text=value)
        case "data":
            _require_textual(media_type, where)
            said = json.dumps(value, ensure_ascii=False, indent=1)
            return A2aPart(text=f"```json\n{said}\n```", data=value)
        case "url":
            raise _params_error(
                f"{where}.url: files at addresses are not fetched: send the file itself as raw"
            )
    return _file(value, media_type, _word(given, "filename", where), where)


def _file(value: Any, media_type: str, name: str, where: str) -> A2aPart:
    try:
        said = str(value).replace("-", "+").replace("_", "/")
        content = base64.b64decode(said, validate=True)
    except ValueError:
        raise _params_error(f"{where}.raw is not base64") from None
    if not content:
        raise _params_error(f"{where}.raw is blank: leave it out")
    picture = message_attachment_picture_type(content)
    if picture is not None:
        name = f"picture.{picture.partition('/')[2]}"
    else:
        _require_textual(media_type, where)
        name = name[-_NAME_CHARACTERS:] or "file.txt"
    fault = judge_message_attachment(name, content)
    if fault is AttachmentFault.TOO_LARGE:
        raise _params_error(
            f"{where}.raw is too large: at most {PICTURE_BYTES:,} bytes for a picture"
        )
    if isinstance(fault, AttachmentFault):
        raise _content_error(media_type or "unknown", where)
    return A2aPart(content=content, name=name)


def _require_textual(media_type: str, where: str) -> None:
    kind = media_type.partition(";")[0].strip().lower()
    if kind and not (kind.startswith(_TEXTUAL) or kind.endswith("+json")):
        raise _content_error(kind, where)


def _word(given: Mapping[str, Any], name: str, where: str) -> str:
    found = given.get(name) or ""
    if not isinstance(found, str):
        raise _params_error(f"{where}.{name} must be a text")
    return found


def _content_error(kind: str, where: str) -> A2aError:
    return A2aError(
        A2aErrorCode.CONTENT_TYPE_NOT_SUPPORTED,
        f"{where} has the media type {kind[:80]!r}: send {ALLOWED}",
    )


def _params_error(message: str) -> A2aError:
    return A2aError(A2aErrorCode.INVALID_PARAMS, message)
