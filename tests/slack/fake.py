"""A fake Slack: it signs and sends events, judges calls of methods, and shows what was posted.

It is built from Slack's reference of the Events API, of interactivity and of the methods.
tests/interop compares it with Slack's own SDK.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx

from opencrab.adapters.system_clock import FakeClock
from tests.discord.faults import Delay, Drop, Fault, Faults, Limited, Status
from tests.unit.adapters.web.net import moved, reply

SECRET = "0123456789abcdef" * 2
TOKEN = "xoxb-fake-1"
BOT, OWNER, GUEST = "U0BOT", "U0TARO", "U0GUEST"
CHANNEL = "C0GENERAL"
NAMES = {OWNER: "たろう", GUEST: "ゲスト"}
SCOPES = "app_mentions:read,chat:write,im:history,users:read,commands,files:read"

FILES = "https://files.slack.example.org/"
TEXT, SECTION, LABEL, VALUE = 40_000, 3_000, 75, 2_000

Door = Callable[[Mapping[str, str], bytes], tuple[int, Any]]
"""What takes a signed request: headers in lower case, body; a status and JSON or None."""


@dataclass(frozen=True)
class Shown:
    """A message that somebody sees; `to` is the only one who does, if not None."""

    text: str
    thread: str | None = None
    to: str | None = None
    buttons: tuple[Mapping[str, str], ...] = ()


@dataclass
class Logged:
    """A call, and how it was answered."""

    method: str
    body: Any
    status: int = 0


@dataclass
class FakeSlack:
    """Slack, with one app in one workspace."""

    clock: FakeClock
    door: Door = lambda _headers, _body: (200, None)
    faults: Faults = field(default_factory=Faults)
    complaints: list[str] = field(default_factory=list)
    log: list[Logged] = field(default_factory=list)
    shown: dict[str, list[Shown]] = field(default_factory=dict)
    sent: list[tuple[bytes, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    file_faults: list[list[bytes]] = field(default_factory=list)
    token: str = TOKEN
    scopes: str = SCOPES
    _events: int = 0

    # People

    def says(self, text: str, by: str = OWNER, *, channel: str | None = None, **fields: Any) -> int:
        """Somebody writes to the bot, or mentions it in a channel; answers the door's status."""
        self._events += 1
        kind = {"type": "app_mention"} if channel else {"type": "message", "channel_type": "im"}
        said = f"<@{BOT}> {text}" if channel else text
        ts = f"{self.clock.now().timestamp():.0f}.{self._events:06d}"
        event = {
            **kind,
            "user": by,
            "text": said,
            "ts": ts,
            "event_ts": ts,
            "channel": channel or f"D{by}",
            **fields,
        }
        body = {
            "type": "event_callback",
            "team_id": "T0TEAM",
            "api_app_id": "A0APP",
            "event": event,
            "event_id": f"Ev{self._events:08d}",
            "event_time": int(self.clock.now().timestamp()),
            "authorizations": [{"team_id": "T0TEAM", "user_id": BOT, "is_bot": True}],
        }
        content = json.dumps(body, ensure_ascii=False).encode()
        return self.deliver(content, "application/json")[0]

    def file(self, name: str, content: bytes, **told: Any) -> dict[str, Any]:
        """A file as an event tells of it, kept where Slack keeps it."""
        file_id = f"F0{len(self.files):06d}"
        address = f"{FILES}files-pri/T0TEAM-{file_id}/download/{file_id.lower()}"
        self.files[address] = content
        return {
            "id": file_id,
            "name": name,
            "title": name,
            "mimetype": "application/octet-stream",
            "mode": "hosted",
            "is_external": False,
            "size": len(content),
            "url_private": address.replace("/download", ""),
            "url_private_download": address,
            "file_access": "visible",
            **told,
        }

    def download(self, url: str) -> list[bytes]:
        """What the server of files answers; `file_faults` go first, once each."""
        if self.file_faults:
            return self.file_faults.pop(0)
        if "files:read" not in self.scopes:
            return moved("https://t0team.slack.example.org/?redir=%2Ffiles-pri")
        return reply(self.files[url]) if url in self.files else reply(status=404)

    def asks(self, text: str, by: str = OWNER, *, channel: str = CHANNEL) -> tuple[int, Any]:
        """Somebody uses /ask."""
        self._events += 1
        fields = {
            "command": "/ask",
            "text": text,
            "user_id": by,
            "user_name": by.lower(),
            "channel_id": channel,
            "team_id": "T0TEAM",
            "trigger_id": f"133.738.{self._events}",
            "response_url": "https://hooks.slack.com/commands/1",
        }
        return self.deliver(urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def press(self, label: str, by: str = OWNER, *, channel: str | None = None) -> int:
        """Somebody presses the newest button whose label has this in it."""
        room = channel or f"D{by}"
        seen = self.shown.get(room, [])
        pressed = [(at, each) for at in seen for each in at.buttons if label in each["label"]]
        return self.press_value(pressed[-1][1]["value"], by, room, pressed[-1][0].thread)

    def press_value(self, value: str, by: str, room: str, thread: str | None = None) -> int:
        """Somebody presses a button with this value."""
        self._events += 1
        ts = f"{self.clock.now().timestamp():.0f}.{self._events:06d}"
        sent = {
            "type": "block_actions",
            "user": {"id": by, "username": by.lower()},
            "channel": {"id": room},
            "message": {"ts": ts, **({"thread_ts": thread} if thread else {})},
            "actions": [{"type": "button", "action_id": "x", "value": value, "action_ts": ts}],
            "trigger_id": f"133.738.{self._events}",
            "response_url": "https://hooks.slack.com/actions/1",
        }
        body = urlencode({"payload": json.dumps(sent)}).encode()
        return self.deliver(body, "application/x-www-form-urlencoded")[0]

    def deliver(self, body: bytes, kind: str) -> tuple[int, Any]:
        """Send a request to the door as Slack does."""
        self.sent.append((body, kind))
        return self.door(signed(body, self.clock.now().timestamp(), kind), body)

    def send_again(self) -> int:
        """Send the newest request once more, as Slack does where no 200 came back in time."""
        body, kind = self.sent[-1]
        again = signed(body, self.clock.now().timestamp(), kind)
        return self.door({**again, "x-slack-retry-num": "1"}, body)[0]

    def texts(self, room: str = f"D{OWNER}") -> list[str]:
        """The texts that are seen in a room."""
        return [each.text for each in self.shown.get(room, [])]

    # The methods

    def connect(self) -> httpx.BaseTransport:
        """A transport to this Slack, which needs no socket."""
        return _Transport(self)

    def answer(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[int, Any, Mapping[str, str]] | None:
        """Answer a call, or None when the connection ends without an answer."""
        is_form = str(headers.get("content-type")).startswith("application/x-www-form")
        body = dict(parse_qsl(content.decode())) if is_form else json.loads(content or b"{}")
        logged = Logged(path.rpartition("/")[2], body)
        self.log.append(logged)
        fault = self.faults.take(logged.method)
        given = self._faulty(logged, headers, fault)
        logged.status = 0 if given is None else given[0]
        return given

    def _faulty(
        self, logged: Logged, headers: Mapping[str, str], fault: Fault | None
    ) -> tuple[int, Any, Mapping[str, str]] | None:
        match fault:
            case Drop("before"):
                return None
            case Status(status, "before"):
                return status, {"ok": False, "error": "internal_error"}, {}
            case Limited(seconds):
                retry = {"retry-after": str(int(seconds) or 1)}
                return 429, {"ok": False, "error": "ratelimited"}, retry
            case Delay(seconds, "before"):
                self.clock.advance(seconds)
        told = self._handled(logged, headers)
        match fault:
            case Drop("after"):
                return None
            case Status(status, "after"):
                return status, {"ok": False, "error": "internal_error"}, {}
            case Delay(seconds, "after"):
                self.clock.advance(seconds)
        return 200, told, {"x-oauth-scopes": self.scopes}

    def _handled(self, logged: Logged, headers: Mapping[str, str]) -> dict[str, Any]:
        if headers.get("authorization") != f"Bearer {self.token}":
            return {"ok": False, "error": "invalid_auth"}
        is_json = str(headers.get("content-type")).startswith("application/json")
        body = logged.body
        if is_json and logged.method == "users.info":
            self.complaints.append("users.info takes a form, no JSON")
            body = {}
        match logged.method:
            case "auth.test":
                return {"ok": True, "user": "kani", "team": "岩場", "user_id": BOT}
            case "users.info":
                return _user(body.get("user"))
            case "chat.postMessage" | "chat.postEphemeral":
                return self._posted(logged.method, body)
        self.complaints.append(f"{logged.method} is unknown")
        return {"ok": False, "error": "unknown_method"}

    def _posted(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        wrong = list(_problems(method, body))
        if wrong:
            self.complaints.append(f"{method}: {wrong}")
            return {"ok": False, "error": wrong[0]}
        buttons = [
            {"label": each["text"]["text"], "value": each["value"]}
            for block in body.get("blocks", ())
            for each in block.get("elements", ())
        ]
        shown = Shown(body["text"], body.get("thread_ts"), body.get("user"), tuple(buttons))
        self.shown.setdefault(body["channel"], []).append(shown)
        return {"ok": True, "channel": body["channel"], "ts": "1.1"}


def _problems(method: str, body: dict[str, Any]) -> Any:
    known = {"channel", "text", "blocks", "thread_ts", "unfurl_links", "unfurl_media", "user"}
    if set(body) - known or ("user" in body) is not (method == "chat.postEphemeral"):
        yield "invalid_arguments"
    if not str(body.get("channel", "")).startswith(("C", "D", "G")):
        yield "channel_not_found"
    if not str(body.get("text", "")).strip():
        yield "no_text"
    if len(body.get("text", "")) > TEXT:
        yield "msg_too_long"
    if any(_is_wrong_block(block) for block in body.get("blocks", ())):
        yield "invalid_blocks"


def _is_wrong_block(block: dict[str, Any]) -> bool:
    if block["type"] == "section":
        return not 0 < len(block["text"]["text"]) <= SECTION
    return any(
        len(each["text"]["text"]) > LABEL
        or len(each["value"]) > VALUE
        or each["style"] not in {"primary", "danger"}
        for each in block["elements"]
    )


class _Transport(httpx.BaseTransport):
    def __init__(self, slack: FakeSlack) -> None:
        self._slack = slack

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        given = self._slack.answer(request.url.path, request.headers, request.read())
        if given is None:
            raise httpx.RemoteProtocolError("the connection ended", request=request)
        return httpx.Response(given[0], json=given[1], headers=given[2], request=request)


def signed(
    body: bytes, at: float, kind: str = "application/json", secret: str = SECRET
) -> dict[str, str]:
    """The headers that a request of Slack travels with."""
    timestamp = f"{at:.0f}"
    base = b"v0:" + timestamp.encode() + b":" + body
    return {
        "content-type": kind,
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest(),
    }


def _user(user_id: str | None) -> dict[str, Any]:
    if user_id is None:
        return {"ok": False, "error": "invalid_arguments"}
    if (name := NAMES.get(user_id)) is None:
        return {"ok": False, "error": "user_not_found"}
    return {"ok": True, "user": {"id": user_id, "profile": {"display_name": name}}}
