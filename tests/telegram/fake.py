"""A fake Telegram: it posts or hands out updates, judges calls of methods, and shows what was sent.

It is built from the reference of the Bot API. tests/interop compares it with a library for bots.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from opencrab.adapters.system_clock import FakeClock
from tests.discord.faults import Delay, Drop, Fault, Faults, Limited, Status
from tests.unit.adapters.web.net import reply

SECRET = "moon-tide_5"
TOKEN = "4242:AA-fake"
BOT, OWNER, GUEST = 4242, "1001", "1002"
USERNAME = "kani_bot"
GROUP = "-1009"
NAMES = {OWNER: ("たろう", ""), GUEST: ("Guest", "🦀")}

TEXT, CALLBACK, ALERT = 4_096, 64, 200
DOWNLOAD = 20_000_000

Door = Callable[[Mapping[str, str], bytes], int]
"""What takes an update: headers in lower case, body; a status."""

_FIELDS = {
    "sendMessage": {
        "chat_id",
        "text",
        "reply_markup",
        "reply_parameters",
        "message_thread_id",
        "link_preview_options",
    },
    "answerCallbackQuery": {"callback_query_id", "text", "show_alert"},
}


@dataclass(frozen=True)
class Shown:
    """A message that somebody sees; `to` is the only one who does, if not None."""

    text: str
    reply: int | None = None
    thread: int | None = None
    to: str | None = None
    buttons: tuple[Mapping[str, str], ...] = ()


@dataclass
class Logged:
    """A call, and how it was answered."""

    method: str
    body: Any
    status: int = 0


@dataclass
class FakeTelegram:
    """Telegram, with one bot."""

    clock: FakeClock
    door: Door = lambda _headers, _body: 200
    faults: Faults = field(default_factory=Faults)
    complaints: list[str] = field(default_factory=list)
    log: list[Logged] = field(default_factory=list)
    shown: dict[str, list[Shown]] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    folder: str = "documents/"
    file_faults: list[list[bytes]] = field(default_factory=list)
    token: str = TOKEN
    webhook: str = "https://crab.example.org/channels/telegram"
    secret: str = SECRET
    error: str = ""
    _updates: int = 700
    _messages: int = 0
    _queries: dict[str, tuple[str, str]] = field(default_factory=dict)

    # People

    def says(
        self, text: str | None, by: str = OWNER, *, group: str | None = None, **fields: Any
    ) -> int:
        """Somebody writes to the bot, or in a group; answers the door's status."""
        self._messages += 1
        message = {
            "message_id": self._messages,
            "from": self._person(by),
            "chat": self._chat(by, group),
            "date": int(self.clock.now().timestamp()),
            "text": text,
            **fields,
        }
        return self.deliver({"message": {k: v for k, v in message.items() if v is not None}})

    def photo(self, content: bytes, **told: Any) -> dict[str, Any]:
        """The fields of a message with a picture, which Telegram keeps in two sizes."""
        small = {**self._kept(content[:9]), "width": 90, "height": 67}
        large = {**self._kept(content), "width": 1_280, "height": 960, **told}
        return {"photo": [small, large]}

    def document(self, name: str | None, content: bytes, **told: Any) -> dict[str, Any]:
        """The fields of a message with a file."""
        named = {} if name is None else {"file_name": name}
        return {"document": {**named, **self._kept(content), "mime_type": "text/plain", **told}}

    def _kept(self, content: bytes) -> dict[str, Any]:
        file_id = f"AgAD-{len(self.files)}"
        self.files[file_id] = content
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": len(content)}

    def download(self, url: str) -> list[bytes]:
        """What the server of files answers for an address; `file_faults` go first, once each."""
        if self.file_faults:
            return self.file_faults.pop(0)
        path = url.partition(f"/file/bot{self.token}/documents/")[2]
        return reply(self.files[path]) if path in self.files else reply(status=404)

    def press(self, label: str, by: str = OWNER, *, group: str | None = None) -> int:
        """Somebody presses the newest button whose label has this in it."""
        room = group or by
        found = [each for at in self.shown.get(room, []) for each in at.buttons]
        pressed = [each for each in found if label in each["text"]]
        return self.press_data(pressed[-1]["callback_data"], by, group)

    def press_data(self, data: str, by: str, group: str | None = None) -> int:
        """Somebody presses a button with this data."""
        self._messages += 1
        query_id = f"88{self._messages}"
        self._queries[query_id] = (group or by, by)
        query = {
            "id": query_id,
            "from": self._person(by),
            "chat_instance": "1",
            "message": {
                "message_id": self._messages,
                "chat": self._chat(by, group),
                "date": int(self.clock.now().timestamp()),
                "text": "?",
            },
            "data": data,
        }
        return self.deliver({"callback_query": query})

    def deliver(self, update: dict[str, Any]) -> int:
        """Post an update to the door, or keep it for who asks."""
        self._updates += 1
        told = {"update_id": self._updates, **update}
        if not self.webhook:
            self.waiting.append(told)
            return 200
        self.sent.append(json.dumps(told).encode())
        return self.send_again()

    def send_again(self) -> int:
        """Post the newest update, as Telegram does until it is answered with 200."""
        return self.door(posted(self.secret), self.sent[-1])

    def texts(self, room: str = OWNER) -> list[str]:
        """The texts that are seen in a room."""
        return [each.text for each in self.shown.get(room, [])]

    def _person(self, user_id: str) -> dict[str, Any]:
        first, last = NAMES.get(user_id, (f"P{user_id}", ""))
        named = {"first_name": first, **({"last_name": last} if last else {})}
        return {"id": int(user_id), "is_bot": False, **named}

    def _chat(self, by: str, group: str | None) -> dict[str, Any]:
        if group is not None:
            return {"id": int(group), "type": "supergroup", "title": "岩場"}
        return {"id": int(by), "type": "private", "first_name": NAMES.get(by, ("P", ""))[0]}

    # The methods

    def connect(self) -> httpx.BaseTransport:
        """A transport to this Telegram, which needs no socket."""
        return _Transport(self)

    def answer(self, path: str, content: bytes) -> tuple[int, Any] | None:
        """Answer a call, or None when the connection ends without an answer."""
        _, name, method = path.rsplit("/", 2)
        logged = Logged(method, json.loads(content) if content else {})
        self.log.append(logged)
        given = self._faulty(logged, name, self.faults.take(method))
        logged.status = 0 if given is None else given[0]
        return given

    def _faulty(self, logged: Logged, name: str, fault: Fault | None) -> tuple[int, Any] | None:
        match fault:
            case Drop("before"):
                return None
            case Status(status, "before"):
                return _failure(status, "Internal Server Error")
            case Limited(seconds):
                wait = int(seconds) or 1
                told = f"Too Many Requests: retry after {wait}"
                return _failure(429, told, retry_after=wait)
            case Delay(seconds, "before"):
                self.clock.advance(seconds)
        given = self._handled(logged, name)
        match fault:
            case Drop("after"):
                return None
            case Status(status, "after"):
                return _failure(status, "Internal Server Error")
            case Delay(seconds, "after"):
                self.clock.advance(seconds)
        return given

    def _handled(self, logged: Logged, name: str) -> tuple[int, Any]:
        if name != f"bot{self.token}":
            return _failure(401, "Unauthorized")
        known: dict[str, Callable[[Any], tuple[int, Any]]] = {
            "getFile": self._file,
            "getMe": self._bot,
            "getChat": self._chat_named,
            "getChatMember": self._member_named,
            "setWebhook": self._hooked,
            "deleteWebhook": self._unhooked,
            "getWebhookInfo": self._hook,
            "getUpdates": self._handed_out,
            "sendMessage": self._posted,
            "answerCallbackQuery": self._answered,
        }
        if logged.method not in known:
            self.complaints.append(f"{logged.method} is unknown")
            return _failure(404, "Not Found")
        return known[logged.method](logged.body)

    def _bot(self, _body: Any) -> tuple[int, Any]:
        return _result({"id": BOT, "is_bot": True, "first_name": "蟹", "username": USERNAME})

    def _file(self, body: Any) -> tuple[int, Any]:
        file_id = body["file_id"]
        if file_id not in self.files:
            told = "Bad Request: wrong file_id or the file is temporarily unavailable"
            return _failure(400, told)
        size = len(self.files[file_id])
        if size > DOWNLOAD:
            return _failure(400, "Bad Request: file is too big")
        path = {"file_path": f"{self.folder}{file_id if self.folder else ''}"}
        return _result({"file_id": file_id, "file_unique_id": file_id, "file_size": size, **path})

    def _hooked(self, body: Any) -> tuple[int, Any]:
        self.webhook, self.secret = body["url"], body.get("secret_token", "")
        return _DONE

    def _unhooked(self, _body: Any) -> tuple[int, Any]:
        self.webhook = ""
        return _DONE

    def _hook(self, _body: Any) -> tuple[int, Any]:
        info = {"url": self.webhook, "has_custom_certificate": False}
        failed = {"last_error_message": self.error} if self.error else {}
        return _result(info | failed | {"pending_update_count": len(self.waiting)})

    def _chat_named(self, body: Any) -> tuple[int, Any]:
        user_id = str(body["chat_id"])
        if user_id not in NAMES:
            return _failure(400, "Bad Request: chat not found")
        return _result({**self._person(user_id), "type": "private"})

    def _member_named(self, body: Any) -> tuple[int, Any]:
        user_id = str(body["user_id"])
        if user_id not in NAMES:
            return _failure(400, "Bad Request: user not found")
        return _result({"status": "member", "user": self._person(user_id)})

    def _handed_out(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.webhook:
            told = "Conflict: can't use getUpdates method while webhook is active"
            return _failure(409, told)
        self.waiting = [each for each in self.waiting if each["update_id"] >= body["offset"]]
        return _result(self.waiting[:100])

    def _posted(self, body: dict[str, Any]) -> tuple[int, Any]:
        wrong = list(_problems("sendMessage", body))
        if wrong:
            self.complaints.append(f"sendMessage: {wrong}")
            return _failure(400, f"Bad Request: {wrong[0]}")
        rows = body.get("reply_markup", {}).get("inline_keyboard", ())
        shown = Shown(
            body["text"],
            body.get("reply_parameters", {}).get("message_id"),
            body.get("message_thread_id"),
            buttons=tuple(each for row in rows for each in row),
        )
        self.shown.setdefault(str(body["chat_id"]), []).append(shown)
        self._messages += 1
        chat = {"id": body["chat_id"], "type": "private"}
        return _result({"message_id": self._messages, "date": 1, "chat": chat})

    def _answered(self, body: dict[str, Any]) -> tuple[int, Any]:
        wrong = list(_problems("answerCallbackQuery", body))
        if wrong:
            self.complaints.append(f"answerCallbackQuery: {wrong}")
        query = self._queries.pop(body["callback_query_id"], None)
        if wrong or query is None:
            return _failure(400, "Bad Request: query is too old or query ID is invalid")
        self.shown.setdefault(query[0], []).append(Shown(body["text"], to=query[1]))
        return _DONE


def _problems(method: str, body: dict[str, Any]) -> Iterator[str]:
    if set(body) - _FIELDS[method]:
        yield f"unknown fields {set(body) - _FIELDS[method]}"
    most = TEXT if method == "sendMessage" else ALERT
    text = str(body.get("text", ""))
    if not text.strip():
        yield "message text is empty"
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > most:
        yield "message is too long"
    for row in body.get("reply_markup", {}).get("inline_keyboard", ()):
        for each in row:
            if not 0 < len(each["callback_data"].encode()) <= CALLBACK:
                yield "BUTTON_DATA_INVALID"


def _result(result: Any) -> tuple[int, Any]:
    return 200, {"ok": True, "result": result}


def _failure(status: int, told: str, **parameters: int) -> tuple[int, Any]:
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": told}
    return status, body | ({"parameters": parameters} if parameters else {})


_DONE = 200, {"ok": True, "result": True}


class _Transport(httpx.BaseTransport):
    def __init__(self, telegram: FakeTelegram) -> None:
        self._telegram = telegram

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        given = self._telegram.answer(request.url.path, request.read())
        if given is None:
            raise httpx.RemoteProtocolError("the connection ended", request=request)
        return httpx.Response(given[0], json=given[1], request=request)


def posted(secret: str = SECRET) -> dict[str, str]:
    """The headers that an update travels with."""
    return {"content-type": "application/json", "x-telegram-bot-api-secret-token": secret}
