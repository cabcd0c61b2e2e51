"""Client: Telegram's Bot API over HTTP, its answers sorted by what to do.

The token is part of every address: neither appears in an error or a log.
"""

import json
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import httpx

from opencrab.adapters.chat.request import (
    ChatTokens,
    object_of_chat_response,
    post_to_chat_service,
)
from opencrab.domain.errors import (
    Conflict,
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)

LONGEST_PAUSE = 600.0
"""The most seconds for which a chat is left alone, whatever Telegram says."""

PAUSED_CHATS = 1_000

_WORDS = 300
_LIMITED, _SERVER_ERROR = 429, 500
_BY_STATUS: Mapping[int, tuple[type[OpenCrabError], str]] = {
    401: (Refused, "ask @BotFather for the token: `opencrab admin telegram doctor` checks it"),
    403: (Refused, "the person must start the bot, or the group must take it in again"),
    404: (Refused, "ask @BotFather for the token: `opencrab admin telegram doctor` checks it"),
    409: (
        Conflict,
        "use `opencrab admin telegram webhook --remove`, and poll with one server only",
    ),
}


class TelegramClient:
    """Calls to the Bot API; each is sent once, over a connection of its own.

    A chat for which Telegram asked to wait is not called before that time is over.

    Args:
        connect: Creates transports whose timeouts are deadlines in monotonic time.
        api: The base URL, without a trailing slash.
        tokens: Provides the bot's token for each request.
        seconds: Monotonic seconds.
    """

    def __init__(
        self,
        connect: Callable[[], httpx.BaseTransport],
        api: str,
        tokens: ChatTokens,
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._connect = connect
        self._api = api
        self._tokens = tokens
        self._seconds = seconds
        self._paused: dict[str, float] = {}

    def call(self, method: str, body: Mapping[str, Any], *, wait: float = 0) -> Any:
        """Call a method and return its result; raises what Telegram says is wrong.

        `wait` is for how many seconds more the answer may take.
        """
        chat = str(body.get("chat_id", ""))
        left = self._paused.get(chat, 0.0) - self._seconds()
        if left > 0:
            raise NeverSent(f"rate limited by Telegram; retry in {left:.0f} s", retry_after=left)
        token = self._tokens.token()
        response = self._exchanged(method, body, token, wait)
        if response.status_code in {401, 404}:
            # Whoever replaced the token did so a moment ago.
            self._tokens.forget()
            newer = self._tokens.token()
            if newer != token:
                token = newer
                response = self._exchanged(method, body, token, wait)
        told = object_of_chat_response(response)
        if told.get("ok") is True:
            return told.get("result")
        if response.status_code == _LIMITED:
            if len(self._paused) >= PAUSED_CHATS:
                self._paused.clear()
            self._paused[chat] = self._seconds() + _pause_seconds(told)
        raise telegram_error(response, token)

    def file_address(self, path: str) -> str:
        """Return where a file is downloaded whose path the method getFile returned."""
        return f"{self._api}/file/bot{self._tokens.token()}/{path}"

    def _exchanged(
        self, method: str, body: Mapping[str, Any], token: str, wait: float
    ) -> httpx.Response:
        headers = {"content-type": "application/json"}
        content = json.dumps(body, ensure_ascii=True).encode()
        url = f"{self._api}/bot{token}/{method}"
        return post_to_chat_service("Telegram", self._connect, url, headers, content, wait=wait)


def telegram_error(response: httpx.Response, token: str) -> OpenCrabError:
    """Map a response that is not ok to our error; the message never contains the token."""
    status = response.status_code
    words = str(object_of_chat_response(response).get("description") or "no reason").replace(
        token, "…"
    )
    text = f"Telegram returned HTTP {status}: {words}"[:_WORDS]
    if status == _LIMITED:
        return NeverSent(text, retry_after=_pause_seconds(object_of_chat_response(response)))
    if status in _BY_STATUS:
        kind, cure = _BY_STATUS[status]
        return kind(text, cure=cure)
    if "chat not found" in words.casefold():
        return NotFound(text, cure="the bot must be in the group, or the person must start it")
    if 400 <= status < _SERVER_ERROR:  # noqa: PLR2004 - the client's own fault
        return Invalid(text, cure="correct what Telegram names, or report it with this message")
    return Unavailable(text, cure="try again later")


def _pause_seconds(told: Mapping[str, Any]) -> float:
    """Return for how long Telegram wants to be left alone."""
    given = told.get("parameters")
    asked = given.get("retry_after") if isinstance(given, dict) else None
    return min(float(asked), LONGEST_PAUSE) if isinstance(asked, int) and asked > 0 else 1.0
