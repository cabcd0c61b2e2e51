"""Client: Telegram's Bot API over HTTP, its answers sorted by what to do.

The token is part of every address: neither appears in an error or a log.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from time import monotonic
from typing import Any, Protocol

import httpx

from opencrab import __version__
from opencrab.domain.errors import (
    Conflict,
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)

USER_AGENT = f"opencrab/{__version__}"
SECONDS = 10.0
"""How long one request may take, beside the time for which it asks Telegram to wait."""

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
_NOTHING_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
)


class TelegramTokens(Protocol):
    """The source of the bot's token."""

    def token(self) -> str:
        """Return the token; raises Refused without one, NeverSent if it cannot be read now."""

    def forget(self) -> None:
        """Drop a cached token, so that the next call reads the store again."""


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
        tokens: TelegramTokens,
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
        told = _object(response)
        if told.get("ok") is True:
            return told.get("result")
        if response.status_code == _LIMITED:
            if len(self._paused) >= PAUSED_CHATS:
                self._paused.clear()
            self._paused[chat] = self._seconds() + _pause_seconds(told)
        raise telegram_error(response, token)

    def _exchanged(
        self, method: str, body: Mapping[str, Any], token: str, wait: float
    ) -> httpx.Response:
        deadline = monotonic() + SECONDS + wait
        patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": SECONDS}
        try:
            request = httpx.Request(
                "POST",
                f"{self._api}/bot{token}/{method}",
                headers={
                    "user-agent": USER_AGENT,
                    "accept-encoding": "identity",
                    "content-type": "application/json",
                },
                content=json.dumps(body, ensure_ascii=True).encode(),
                extensions={"timeout": patience},
            )
            with (
                closing(self._connect()) as transport,
                closing(transport.handle_request(request)) as response,
            ):
                response.read()
                return response
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            name = type(error).__name__
            if isinstance(error, _NOTHING_LEFT):
                raise NeverSent(f"Telegram cannot be reached: {name}") from None
            raise Unavailable(f"Telegram did not answer: {name}", cure="try again later") from None


def telegram_error(response: httpx.Response, token: str) -> OpenCrabError:
    """Map a response that is not ok to our error; the message never contains the token."""
    status = response.status_code
    words = str(_object(response).get("description") or "no reason").replace(token, "…")
    text = f"Telegram returned HTTP {status}: {words}"[:_WORDS]
    if status == _LIMITED:
        return NeverSent(text, retry_after=_pause_seconds(_object(response)))
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


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
