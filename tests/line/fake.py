"""A fake LINE: it signs and sends events, judges requests, and shows people what was sent.

It is built from the published specification (webhook.yml and messaging-api.yml of line-openapi)
and from LINE's pages on reply tokens and retry keys. tests/interop compares it with LINE's own SDK.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from re import fullmatch
from typing import Any
from uuid import UUID

import httpx

from opencrab.adapters.system_clock import FakeClock
from tests.discord.faults import Delay, Drop, Fault, Faults, Limited, Status
from tests.line.rules import problems
from tests.unit.adapters.web.net import reply

SECRET = "0123456789abcdef" * 2
TOKEN = "line-fake-token+/=="
BOT = "U00000000000000000000000000000b07"
OWNER = "U4af4980629a1b2c3d4e5f60718293a4b"
GUEST = "U1111111111111111111111111111abcd"
GROUP = "Ca56f94637c1b2c3d4e5f60718293a4b5"
NAMES = {OWNER: "たろう", GUEST: "ゲスト"}

CONTENT = "https://api-data.line.example.org/v2/bot/message/"

TOKEN_LIVES = timedelta(minutes=1)
KEY_LIVES = timedelta(hours=24)

Door = Callable[[Mapping[str, str], bytes], int]
"""What takes a signed request: headers in lower case, body; it answers with a status."""


@dataclass(frozen=True)
class Shown:
    """A message that somebody sees."""

    text: str
    buttons: tuple[Mapping[str, str], ...] = ()


@dataclass
class Logged:
    """A request, and how it was answered."""

    line: str
    body: Any
    headers: Mapping[str, str]
    status: int = 0


@dataclass
class FakeLine:
    """LINE, with one bot; `door` is the webhook behind the address that is set."""

    clock: FakeClock
    door: Door = lambda _headers, _body: 200
    faults: Faults = field(default_factory=Faults)
    complaints: list[str] = field(default_factory=list)
    log: list[Logged] = field(default_factory=list)
    shown: dict[str, list[Shown]] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=lambda: dict(NAMES))
    endpoint: str = "https://crab.example.org/channels/line"
    active: bool = True
    quota: int | None = 200
    pushed: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    file_faults: list[list[bytes]] = field(default_factory=list)
    token: str = TOKEN
    _tokens: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    _keys: dict[str, datetime] = field(default_factory=dict)
    _events: int = 0

    # People

    def says(
        self, text: str, by: str | None = OWNER, *, group: str | None = None, **message: Any
    ) -> int:
        """Somebody writes; answers the door's status. `message` are more fields of it."""
        self._events += 1
        said = {
            "type": "text",
            "id": str(500_000_000_000_000_000 + self._events),
            "text": text,
            "quoteToken": f"q{self._events}",
            **message,
        }
        return self.send("message", by, group, message=said)

    def attaches(
        self, name: str | None, content: bytes, by: str = OWNER, *, group: str | None = None
    ) -> int:
        """Somebody sends a file, or without a name a picture: a message without words."""
        message_id = str(600_000_000_000_000_000 + len(self.files))
        self.files[message_id] = content
        line = {"type": "line"}
        picture = {"type": "image", "contentProvider": line, "quoteToken": "q"}
        file = {"type": "file", "fileName": name, "fileSize": len(content)}
        told = {"id": message_id, **(picture if name is None else file)}
        return self.send("message", by, group, message=told)

    def download(self, url: str) -> list[bytes]:
        """What the host of content answers; `file_faults` go first, once each."""
        if self.file_faults:
            return self.file_faults.pop(0)
        message_id = url.removeprefix(CONTENT).removesuffix("/content")
        known = self.files.get(message_id)
        return reply(status=404) if known is None else reply(known, "image/jpeg")

    def mentions(self, text: str, by: str = OWNER, *, group: str = GROUP) -> int:
        """Somebody writes in a group and mentions the bot."""
        bot = {"index": 0, "length": 4, "type": "user", "userId": BOT, "isSelf": True}
        return self.says(f"@かに {text}", by, group=group, mention={"mentionees": [bot]})

    def press(self, label: str, by: str = OWNER, *, place: str | None = None) -> int:
        """Somebody presses the newest button whose label has this in it."""
        seen = self.shown.get(place or by, [])
        buttons = [each for message in seen for each in message.buttons if label in each["label"]]
        group = place if place and place.startswith("C") else None
        return self.send("postback", by, group, postback={"data": buttons[-1]["data"]})

    def send(self, kind: str, by: str | None, group: str | None = None, **fields: Any) -> int:
        """Send an event to the door as LINE does."""
        self._events += 1
        now, token = self.clock.now(), hashlib.md5(b"%d" % self._events).hexdigest()  # noqa: S324
        source: dict[str, Any] = {"type": "group", "groupId": group} if group else {"type": "user"}
        if by is not None:
            source["userId"] = by
        self._tokens[token] = (group or str(by), now)
        event = {
            "type": kind,
            "mode": "active",
            "timestamp": int(now.timestamp() * 1_000),
            "source": source,
            "webhookEventId": f"01H8XGJWBWBAQ4{self._events:012d}",
            "deliveryContext": {"isRedelivery": False},
            "replyToken": token,
            **fields,
        }
        return self._deliver([event])

    def send_again(self) -> int:
        """Send the newest request once more, as LINE does where no 200 came back."""
        body = json.loads(self.sent[-1])
        for event in body["events"]:
            event["deliveryContext"] = {"isRedelivery": True}
        return self._deliver(body["events"])

    def _deliver(self, events: list[dict[str, Any]]) -> int:
        sent = json.dumps({"destination": BOT, "events": events}, ensure_ascii=False)
        body = sent.encode("utf-8", "backslashreplace")
        self.sent.append(body)
        return self.door(signed(body), body)

    def texts(self, place: str = OWNER) -> list[str]:
        """The texts that are seen in a place."""
        return [each.text for each in self.shown.get(place, [])]

    # The API

    def connect(self) -> httpx.BaseTransport:
        """A transport to this LINE, which needs no socket."""
        return _Transport(self)

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[int, Any] | None:
        """Answer a request, or None when the connection ends without an answer."""
        logged = Logged(f"{method} {path}", _json(content), headers)
        self.log.append(logged)
        fault = self.faults.take(logged.line)
        given = self._faulty(logged, fault)
        logged.status = 0 if given is None else given[0]
        return given

    def _faulty(self, logged: Logged, fault: Fault | None) -> tuple[int, Any] | None:
        match fault:
            case Drop("before"):
                return None
            case Status(status, "before"):
                return status, {"message": "Internal Server Error"}
            case Limited():
                words = "The API rate limit has been exceeded. Try again later."
                return 429, {"message": words}
            case Delay(seconds, "before"):
                self.clock.advance(seconds)
        given = self._handled(logged)
        match fault:
            case Drop("after"):
                return None
            case Status(status, "after"):
                return status, {"message": "Internal Server Error"}
            case Delay(seconds, "after"):
                self.clock.advance(seconds)
        return given

    def _handled(self, logged: Logged) -> tuple[int, Any]:
        if logged.headers.get("authorization") != f"Bearer {self.token}":
            return 401, {
                "message": "Authentication failed. Confirm that the access token is valid."
            }
        method, _, path = logged.line.partition(" ")
        if method == "POST" and not str(logged.headers.get("content-type")).startswith(
            "application/json"
        ):
            self.complaints.append(f"{logged.line}: no JSON")
            return 415, {"message": "Unsupported Media Type"}
        match path:
            case "/v2/bot/message/reply":
                return self._reply(logged)
            case "/v2/bot/message/push":
                return self._push(logged)
        return self._about(path)

    def _reply(self, logged: Logged) -> tuple[int, Any]:
        wrong = self._wrong(logged, {"replyToken", "messages", "notificationDisabled"})
        if wrong is not None:
            return wrong
        if "x-line-retry-key" in logged.headers:
            self.complaints.append(f"{logged.line}: a reply takes no retry key")
        place, at = self._tokens.get(logged.body["replyToken"], ("", self.clock.now()))
        if not place or self.clock.now() >= at + TOKEN_LIVES:
            return 400, {"message": "Invalid reply token"}
        del self._tokens[logged.body["replyToken"]]
        return self._shown(place, logged.body["messages"])

    def _push(self, logged: Logged) -> tuple[int, Any]:
        key = logged.headers.get("x-line-retry-key")
        wrong = self._wrong(logged, {"to", "messages", "notificationDisabled"})
        if wrong is not None:
            return wrong
        if key is not None and str(UUID(key)) != key:
            self.complaints.append(f"{logged.line}: the retry key is no UUID")
        if fullmatch(r"[UCR][0-9a-f]{32}", str(logged.body.get("to"))) is None:
            self.complaints.append(f"{logged.line}: to {logged.body.get('to')!r}")
            return 400, {"message": "The property, 'to', in the request body is invalid"}
        if key in self._keys and self.clock.now() < self._keys[key] + KEY_LIVES:
            return 409, {"message": "The retry key is already accepted"}
        if self.quota is not None and self.pushed >= self.quota:
            return 429, {"message": "You have reached your monthly limit."}
        if key is not None:
            self._keys[key] = self.clock.now()
        self.pushed += len(logged.body["messages"])
        return self._shown(logged.body["to"], logged.body["messages"])

    def _wrong(self, logged: Logged, known: set[str]) -> tuple[int, Any] | None:
        found = list(problems(logged.body.get("messages")))
        found += [(name, "is unknown") for name in set(logged.body) - known]
        if not found:
            return None
        self.complaints.append(f"{logged.line}: {found}")
        details = [{"property": name, "message": why} for name, why in found]
        return 400, {"message": "The request body has error(s)", "details": details}

    def _shown(self, place: str, messages: list[dict[str, Any]]) -> tuple[int, Any]:
        for message in messages:
            template = message.get("template", {})
            text = message.get("text") or template.get("text")
            self.shown.setdefault(place, []).append(Shown(text, tuple(template.get("actions", ()))))
        return 200, {"sentMessages": [{"id": f"46{n}"} for n, _ in enumerate(messages)]}

    def _about(self, path: str) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if parts[2] == "profile" or (parts[2] == "group" and parts[4] == "member"):
            user_id = parts[-1]
            if user_id not in self.names:
                return 404, {"message": "Not found"}
            return 200, {"displayName": self.names[user_id], "userId": user_id, "language": "ja"}
        webhook = {"endpoint": self.endpoint, "active": self.active}
        known: dict[str, Any] = {
            "/v2/bot/info": {
                "userId": BOT,
                "basicId": "@216ru",
                "displayName": "かに",
                "chatMode": "bot",
                "markAsReadMode": "auto",
            },
            "/v2/bot/channel/webhook/endpoint": webhook if self.endpoint else None,
            "/v2/bot/message/quota": {"type": "none"}
            if self.quota is None
            else {"type": "limited", "value": self.quota},
            "/v2/bot/message/quota/consumption": {"totalUsage": self.pushed},
        }
        if path == "/v2/bot/channel/webhook/test":
            return 200, self._test()
        found = known.get(path)
        return (404, {"message": "Not found"}) if found is None else (200, found)

    def _test(self) -> dict[str, Any]:
        """Call the webhook without events, as LINE's console does."""
        body = json.dumps({"destination": BOT, "events": []}).encode()
        status = self.door(signed(body), body)
        told = {"timestamp": self.clock.now().isoformat(), "statusCode": status, "detail": "200"}
        if status == 200:
            return {"success": True, "reason": "OK", **told}
        return {"success": False, "reason": "ERROR_STATUS_CODE", **told, "detail": str(status)}


class _Transport(httpx.BaseTransport):
    def __init__(self, line: FakeLine) -> None:
        self._line = line

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        given = self._line.answer(request.method, path, request.headers, request.read())
        if given is None:
            raise httpx.RemoteProtocolError("the connection ended", request=request)
        return httpx.Response(given[0], json=given[1], request=request)


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    """The headers that a request of LINE travels with."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).digest()
    return {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "LineBotWebhook/2.0",
        "x-line-signature": base64.b64encode(digest).decode(),
    }


def _json(content: bytes) -> Any:
    return json.loads(content) if content else {}
