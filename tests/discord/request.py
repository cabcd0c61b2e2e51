"""Request: one call of Discord's API as it arrives, with its body and files taken apart."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message as Mail
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.discord.refusals import Refusal, invalid
from tests.discord.state import File

BASE = "/api/v10"
AGENT = re.compile(r"^DiscordBot \(https?://\S+, \S+\)")
UNSIGNED = ("/webhooks/", "/interactions/")
"""Routes whose address holds all the secret that they need."""


@dataclass(frozen=True)
class Request:
    """A request, whose `json` is its body or the `payload_json` of its parts."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    json: Any = None
    files: tuple[File, ...] = ()

    @property
    def line(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"

    @property
    def is_by_token(self) -> bool:
        """Whether its address, and no bot's token, says who calls."""
        return self.path.startswith(UNSIGNED)


@dataclass
class Answer:
    """What is answered."""

    status: int = 200
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """Its bytes; 204 has none."""
        return b"" if self.status == 204 else json.dumps(self.json, ensure_ascii=False).encode()


@dataclass
class Logged:
    """A request with what became of it; without an answer the connection was dropped."""

    request: Request
    status: int | None = None
    answer: Any = None
    complaint: str | None = None


def parse(method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
    """Take a request apart; header names are lower-case. Raises Refusal."""
    split = urlsplit(target)
    path = split.path.removeprefix(BASE)
    query = {name: values[-1] for name, values in parse_qs(split.query).items()}
    plain = Request(method, path, query, headers, body)
    if path == split.path:
        raise Refusal(404, 0, complaint=f"no version in {target!r}")
    if not body:
        return plain
    media_type = headers.get("content-type", "")
    if media_type.startswith("multipart/form-data"):
        value, files = _parts(media_type, body)
        return Request(method, path, query, headers, body, value, files)
    if not media_type.startswith("application/json"):
        raise invalid("", "CONTENT_TYPE_INVALID", f"content type {media_type!r}")
    return Request(method, path, query, headers, body, _json(body))


def check_sender(request: Request, tokens: Mapping[str, object]) -> None:
    """Raise a refusal for a caller who does not say properly who it is."""
    if not AGENT.match(request.headers.get("user-agent", "")):
        told = f"user agent {request.headers.get('user-agent')!r}"
        raise Refusal(403, 40333, complaint=told)
    given = request.headers.get("authorization")
    if request.is_by_token:
        if given is not None:
            raise Refusal(400, 0, complaint=f"a bot's token at {request.path}")
        return
    if given is None or not given.startswith("Bot "):
        raise Refusal(401, 0, complaint=f"no bot's token at {request.path}")
    if given.removeprefix("Bot ") not in tokens:
        raise Refusal(401, 0)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode())
    except ValueError as error:
        told = f"the body is not JSON: {error}"
        raise Refusal(400, 50109, complaint=told) from None


def _parts(media_type: str, body: bytes) -> tuple[Any, tuple[File, ...]]:
    mail = message_from_bytes(
        b"Content-Type: " + media_type.encode() + b"\r\n\r\n" + body, policy=HTTP
    )
    value: Any = None
    files: list[File] = []
    for part in mail.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = _content(part)
        if name == "payload_json":
            value = _json(content)
            continue
        number = re.fullmatch(r"files\[(\d)\]", name)
        filename = part.get_filename()
        if number is None or not filename:
            raise invalid("files", "OURS_PART", f"a part called {name!r}")
        files.append(File(number[1], filename, content, part.get_content_type()))
    if value is None:
        raise invalid("", "OURS_PART", "no part called 'payload_json'")
    return value, tuple(files)


def _content(part: Mail) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""
