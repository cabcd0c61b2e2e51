"""Client: Discord's API over HTTP, with its limits kept and its answers sorted by what to do.

A limit is of a bucket, for one main parameter, such as a channel; which routes share a bucket is
known only from answers. What is not known is allowed.

No token appears in an error or a log: addresses hold some, so that they are never quoted.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from opencrab import __version__
from opencrab.adapters.chat.request import chat_service_unreachable
from opencrab.adapters.discord.answers import (
    discord_error,
    discord_retry_after,
)
from opencrab.domain.discord.community import InteractionReply, time_of_discord_snowflake
from opencrab.domain.errors import NeverSent, NotFound
from opencrab.ports.clock import Clock
from opencrab.ports.discord import Attachment, Payload

USER_AGENT = f"DiscordBot (https://github.com/opencrab/opencrab, {__version__})"
SECONDS = 10.0
"""How long one request may take."""

LONGEST_WAIT, LONGEST_WAITS = 3.0, 6.0
"""Seconds to wait for a limit, once and for one call; what takes longer is for another time."""

TRIES = 3
"""How often one call is sent while Discord says that it was too soon."""

SPREADING = timedelta(seconds=60)
"""How long after an interaction Discord may not know its token yet everywhere."""

_ORIGINAL = "/messages/@original"
_AFTER_TOKEN = 4
"""Parts of a path up to an interaction's token."""

_LIMITED = 429
_UNAUTHORIZED = 401
_SUCCESSES = range(200, 300)
_NOT_SPREAD = frozenset({10015, 10062})
_SILENT: Mapping[str, Any] = {"parse": []}
_BUCKETS = 500
"""The number of buckets from which on those that are over are forgotten."""


class BotTokens(Protocol):
    """The source of Discord bot tokens."""

    def token(self, secret: str | None) -> str:
        """Return the bot token stored under a secret's name.

        None means the installation's own token.

        Raises Refused if there is none, and NeverSent if the secret store is unavailable.
        """

    def forget(self) -> None:
        """Drop cached tokens, so that the next call of `token` reads the store again."""


@dataclass(frozen=True)
class Route:
    """The scope of a rate limit: kind of request, major parameter, and whether it is the bot's.

    Requests with an interaction's token do not count toward the bot's global limit.
    """

    kind: str
    major: str
    as_bot: bool


@dataclass
class _Bucket:
    left: int
    until: datetime


class DiscordRateLimits:
    """Discord's rate limits as this process knows them from response headers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._names: dict[str, str] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._everything = clock.now()

    def try_acquire(self, route: Route, *, spare: int = 0) -> float:
        """Count a request as sent and return 0, or return the seconds until one may be sent.

        At least `spare` requests are left for others.
        """
        with self._lock:
            key, now = self._key(route), self._clock.now()
            if route.as_bot and now < self._everything:
                return (self._everything - now).total_seconds()
            bucket = self._buckets.get(key)
            if bucket is None or now >= bucket.until:
                return 0.0
            if bucket.left > spare:
                bucket.left -= 1
                return 0.0
            return (bucket.until - now).total_seconds()

    def update_from_headers(self, route: Route, headers: Mapping[str, str]) -> None:
        """Update a route's bucket from the rate limit headers of a response."""
        left = _number(headers.get("x-ratelimit-remaining"))
        seconds = _number(headers.get("x-ratelimit-reset-after"))
        if left is None or seconds is None:
            return
        name = headers.get("x-ratelimit-bucket", "")
        with self._lock:
            if name:
                self._names[route.kind] = name
            self._put(route, int(left), seconds)

    def block(self, route: Route, seconds: float, *, everything: bool) -> None:
        """Record an HTTP 429: block this route, or with `everything` all of the bot's routes."""
        with self._lock:
            until = self._put(route, 0, seconds)
            if everything:
                self._everything = max(self._everything, until)

    def _put(self, route: Route, left: int, seconds: float) -> datetime:
        """Set a bucket's remaining requests for a number of seconds; return when it resets."""
        key, now = self._key(route), self._clock.now()
        until = now + timedelta(seconds=seconds)
        if len(self._buckets) >= _BUCKETS:
            self._buckets = {
                key: known for key, known in self._buckets.items() if known.until > now
            }
        self._buckets[key] = _Bucket(left, until)
        return until

    def _key(self, route: Route) -> tuple[str, str]:
        return self._names.get(route.kind, route.kind), route.major


@dataclass(frozen=True)
class _Request:
    """One HTTP request; `major` is its major parameter, `alone` gives it a new connection.

    One `at_once` never waits for a limit, and is sent once at most. Its repr hides path and body,
    which may contain tokens.
    """

    method: str = field(repr=False)
    path: str = field(repr=False)
    major: str = field(repr=False)
    body: Any = field(default=None, repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)
    as_bot: bool = True
    alone: bool = False
    at_once: bool = False

    @property
    def route(self) -> Route:
        """The rate limit route: method, path with ids masked, and major parameter."""
        parts = self.path.partition("?")[0].split("/")
        if not self.as_bot:
            parts = parts[_AFTER_TOKEN:]
        kind = "/".join("#" if part.isdigit() else part for part in parts)
        return Route(f"{self.method} {kind}", self.major, self.as_bot)

    def made(self, api: str, headers: Mapping[str, str]) -> httpx.Request:
        """Build the httpx request, with a deadline of SECONDS from now."""
        deadline = monotonic() + SECONDS
        patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": SECONDS}
        return httpx.Request(
            self.method,
            f"{api}{self.path}",
            headers={"user-agent": USER_AGENT, "accept-encoding": "identity", **headers},
            extensions={"timeout": patience},
            **_body(self.body, self.files),
        )


class DiscordClient:
    """`ports.discord.Discord` over HTTP connections that are reused.

    Args:
        connect: Creates transports whose timeouts are deadlines in monotonic time. A transport may
            resend a request if its reused connection was already closed. Requests that must not
            be repeated get a new transport.
        api: The base URL, without a trailing slash.
        tokens: Provides the bot token for each request.
        clock: Tells the age of an interaction and the end of a rate limit.
        pause: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        connect: Callable[[], httpx.BaseTransport],
        api: str,
        tokens: BotTokens,
        clock: Clock,
        pause: Callable[[float], object],
    ) -> None:
        self._connect = connect
        self._kept: httpx.BaseTransport | None = None
        self._api = api
        self._tokens = tokens
        self._clock = clock
        self._pause = pause
        self._limits = DiscordRateLimits(clock)

    def close(self) -> None:
        """Close the reused connections; a later request opens new ones."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def edit_reply(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        body = _message(message, files)
        return _id(self._by_token(reply, "PATCH", _ORIGINAL, body=body, files=files))

    def find_reply(self, reply: InteractionReply) -> str:
        return _id(self._by_token(reply, "GET", _ORIGINAL, at_once=True))

    def update_reply(self, reply: InteractionReply, message: Payload) -> str:
        body = _message(message, ())
        return _id(self._by_token(reply, "PATCH", _ORIGINAL, body=body, at_once=True))

    def delete_reply(self, reply: InteractionReply) -> None:
        try:
            self._by_token(reply, "DELETE", _ORIGINAL)
        except NotFound:
            if not reply.is_open(self._clock.now()):
                raise

    def follow_up(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        body = _message(message, files)
        return _id(self._by_token(reply, "POST", "", body=body, files=files, alone=True))

    def post(
        self, channel_id: str, message: Payload, *files: Attachment, nonce: str, token: str | None
    ) -> str:
        body = {**_message(message, files), "nonce": nonce, "enforce_nonce": True}
        path = f"/channels/{channel_id}/messages"
        return _id(self._as_bot(_Request("POST", path, channel_id, body, files), token))

    def edit(
        self,
        channel_id: str,
        message_id: str,
        message: Payload,
        *files: Attachment,
        token: str | None = None,
    ) -> None:
        path = f"/channels/{channel_id}/messages/{message_id}"
        body = _message(message, files)
        self._as_bot(_Request("PATCH", path, channel_id, body, files), token)

    def delete(self, channel_id: str, message_id: str) -> None:
        path = f"/channels/{channel_id}/messages/{message_id}"
        with suppress(NotFound):
            self._as_bot(_Request("DELETE", path, channel_id), None)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        major = next((part for part in path.partition("?")[0].split("/") if part.isdigit()), "")
        return self._as_bot(_Request(method, path, major, body, alone=method == "POST"), None)

    def _by_token(self, reply: InteractionReply, method: str, path: str, **content: Any) -> Any:
        hook = f"/webhooks/{reply.application_id}/{quote(reply.token, safe=':=+')}"
        request = _Request(method, hook + path, reply.token, as_bot=False, **content)
        response = self._sent(request, {})
        if response.status_code in _SUCCESSES:
            return _json(response)
        found = discord_error(response, reply.token)
        is_young = self._clock.now() < time_of_discord_snowflake(reply.id) + SPREADING
        if is_young and found.code in _NOT_SPREAD:
            raise NeverSent("Discord does not know the interaction yet")
        raise found.error

    def _as_bot(self, request: "_Request", secret: str | None) -> Any:
        token = self._tokens.token(secret)
        response = self._sent(request, _auth_header(token))
        if response.status_code == _UNAUTHORIZED:
            # Whoever replaced the token did so a moment ago.
            self._tokens.forget()
            newer = self._tokens.token(secret)
            if newer != token:
                token = newer
                response = self._sent(request, _auth_header(token))
        if response.status_code in _SUCCESSES:
            return _json(response)
        raise discord_error(response, token).error

    def _sent(self, request: "_Request", headers: Mapping[str, str]) -> httpx.Response:
        """Send a request and retry on HTTP 429.

        Raise NeverSent if the rate limit lasts too long.
        """
        route, left, seconds = request.route, LONGEST_WAITS, 0.0
        for _ in range(1 if request.at_once else TRIES):
            if request.at_once:
                self._require_room(route)
            else:
                left -= self._waited(route, left)
            response = self._exchanged(request, headers)
            self._limits.update_from_headers(route, response.headers)
            if response.status_code != _LIMITED:
                return response
            seconds, everything = discord_retry_after(response)
            self._limits.block(route, seconds, everything=everything)
        raise NeverSent(f"rate limited by Discord; retry in {seconds:.1f} s")

    def _require_room(self, route: Route) -> None:
        """Raise NeverSent unless a request may be sent now that leaves another one."""
        seconds = self._limits.try_acquire(route, spare=1)
        if seconds > 0:
            raise NeverSent(f"close to a rate limit of Discord; retry in {seconds:.1f} s")

    def _waited(self, route: Route, left: float) -> float:
        """Wait out the rate limit of a route and return the seconds waited."""
        waited = 0.0
        while (seconds := self._limits.try_acquire(route)) > 0:
            if seconds > LONGEST_WAIT or waited + seconds > left:
                raise NeverSent(f"rate limited by Discord; retry in {seconds:.1f} s")
            self._pause(seconds)
            waited += seconds
        return waited

    def _exchanged(self, request: "_Request", headers: Mapping[str, str]) -> httpx.Response:
        try:
            made = request.made(self._api, headers)
            if request.alone:
                with closing(self._connect()) as fresh:
                    return _fetch_response(fresh, made)
            self._kept = self._kept or self._connect()
            return _fetch_response(self._kept, made)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise chat_service_unreachable("Discord", error) from None


def _fetch_response(transport: httpx.BaseTransport, request: httpx.Request) -> httpx.Response:
    with closing(transport.handle_request(request)) as response:
        response.read()
        return response


def _auth_header(token: str) -> dict[str, str]:
    return {"authorization": f"Bot {token}"}


def _message(message: Payload, files: tuple[Attachment, ...]) -> dict[str, Any]:
    """Add attachments to a message and turn off all mentions."""
    body = {**message, "allowed_mentions": _SILENT}
    if files:
        body["attachments"] = [
            {"id": str(n), "filename": file.name} for n, file in enumerate(files)
        ]
    return body


def _body(body: Any, files: tuple[Attachment, ...]) -> dict[str, Any]:
    """Return the httpx arguments for a JSON body, or for multipart if there are files."""
    if not files:
        return {} if body is None else {"json": body}
    text = json.dumps(body, ensure_ascii=False).encode()
    parts = [("payload_json", (None, text, "application/json"))]
    named = [
        (f"files[{n}]", (file.name, file.content, file.media_type)) for n, file in enumerate(files)
    ]
    return {"files": [*parts, *named]}


def _json(response: httpx.Response) -> Any:
    """Decode the JSON of a successful response; None if it is empty or malformed."""
    try:
        return json.loads(response.content) if response.content else None
    except (ValueError, RecursionError):
        return None


def _id(answer: Any) -> str:
    found = answer.get("id") if isinstance(answer, dict) else None
    return found if isinstance(found, str) else ""


def _number(text: str | None) -> float | None:
    """Parse a header as a non-negative number; None if it is none or too large for a timedelta."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < timedelta.max.total_seconds() // 2 else None
