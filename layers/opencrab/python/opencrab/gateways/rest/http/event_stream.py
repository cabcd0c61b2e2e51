"""Event stream: server-sent events of one session, until the client leaves or there are no more."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.types import Message, Send

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Language
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.ports.clock import Clock

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
CHECK_SECONDS = 15.0
TAKE_SECONDS = 10.0
"""A client that does not take an event within so long loses its stream, as over a WebSocket."""

RETRY_MS = 1_000
IDLE_RETRY_MS = 4_000
"""Between two requests of a client where each request is limited and nothing happens."""


class Follower(Protocol):
    """The position of one client in a stream; it is read in a thread, call by call."""

    @property
    def is_over(self) -> bool:
        """True if no more events will come."""

    @property
    def is_busy(self) -> bool:
        """True if more events are about to come."""

    def new_events(self) -> list[str]:
        """Return the events since the last call; raises OpenCrabError."""

    def check_access(self) -> None:
        """Raise OpenCrabError if the client may no longer read what was returned."""


class EventSource(Protocol):
    """A follower that does not know whether its client may still read."""

    @property
    def is_over(self) -> bool:
        """True if no more events will come."""

    @property
    def is_busy(self) -> bool:
        """True if more events are about to come."""

    def new_events(self) -> list[str]:
        """Return the events since the last call; raises OpenCrabError."""


class CheckedFollower:
    """A `Follower` that asks every `CHECK_SECONDS` whether its client may still read.

    A key may have been revoked, or a session may no longer be shared. Then `check` raises
    OpenCrabError, which ends the stream.
    """

    def __init__(self, follower: EventSource, check: Callable[[], object], clock: Clock) -> None:
        self._follower = follower
        self._check = check
        self._clock = clock
        self._checked_ms = clock.monotonic_ms()

    @property
    def is_over(self) -> bool:
        """True if no more events will come."""
        return self._follower.is_over

    @property
    def is_busy(self) -> bool:
        """True if more events are about to come."""
        return self._follower.is_busy

    def new_events(self) -> list[str]:
        """Return the events since the last call; raises OpenCrabError."""
        self.check_access()
        return self._follower.new_events()

    def check_access(self) -> None:
        """Check the client's access if the last check is `CHECK_SECONDS` old."""
        if self._clock.monotonic_ms() - self._checked_ms >= CHECK_SECONDS * 1_000:
            self._check()
            self._checked_ms = self._clock.monotonic_ms()


class EventStreamResponse(StreamingResponse):
    """A streamed response that ends when its client does not take an event in time."""

    def __init__(
        self, stream: AsyncGenerator[str, None], *, take_seconds: float = TAKE_SECONDS
    ) -> None:
        # Proxies neither cache nor buffer it.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(stream, headers=headers, media_type="text/event-stream")
        self._stream = stream
        self._take_seconds = take_seconds

    async def stream_response(self, send: Send) -> None:
        """Send the stream, giving the client `take_seconds` for each event."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._take_seconds):
                await send(message)

        async with aclosing(self._stream):
            try:
                await super().stream_response(send_in_time)
            except TimeoutError:
                log.info("event stream closed, its client does not read")


def http_event_stream_response(stream: AsyncGenerator[str, None]) -> StreamingResponse:
    """Return a stream as a response that ends when its client does not read."""
    return EventStreamResponse(stream)


async def stream_http_events(
    api: RestContext,
    session_id: str,
    follower: Follower,
    seconds: float | None,
    *,
    begin: str = "",
    language: Language = Language.EN,
    look_seconds: float = HEARTBEAT_SECONDS,
    check_seconds: float = CHECK_SECONDS,
) -> AsyncGenerator[str, None]:
    """Stream the follower's events, sleeping until there may be more.

    Where requests are limited, as on Lambda, which bills the time of a response, the stream ends
    with what there is unless more is about to come; the client asks again.

    Args:
        api: The installation.
        session_id: The session whose changes end a sleep.
        follower: Returns the new events.
        seconds: The duration of the stream; None for no end.
        begin: The id to continue after, told first where requests are limited.
        language: The language of an error that ends the stream.
        look_seconds: The longest sleep, for changes that wake no one.
        check_seconds: The time for which a client takes events before its access is checked again.
    """
    loop, limited = asyncio.get_running_loop(), api.longest_seconds is not None
    deadline = math.inf if seconds is None else loop.time() + seconds
    yield _opening(begin, limited)
    async with api.watch.watching(session_id) as next_change:
        quiet_since = loop.time()
        while loop.time() < deadline:
            try:
                news = _news_with_retry(await run_in_threadpool(follower.new_events), limited)
                async for event in _while_allowed(news, follower, check_seconds):
                    yield event
            except OpenCrabError as error:
                yield _problem_event(error, language)
                return
            if follower.is_over or (limited and not follower.is_busy):
                return
            if news:
                quiet_since = loop.time()
                continue
            if loop.time() - quiet_since >= HEARTBEAT_SECONDS:
                yield ": still here\n\n"
                quiet_since = loop.time()
            until = min(quiet_since + HEARTBEAT_SECONDS, deadline) - loop.time()
            if await next_change(max(min(look_seconds, until), 0.0)):
                return


def _problem_event(error: OpenCrabError, language: Language) -> str:
    from opencrab.gateways.rest.http.problem_form import http_problem_in  # noqa: PLC0415 - seldom

    return f"event: problem\ndata: {bytes(http_problem_in(language, error).body).decode()}\n\n"


def _opening(begin: str, limited: bool) -> str:  # noqa: FBT001
    return f"retry: {IDLE_RETRY_MS}\n{begin}\n" if limited else f"retry: {RETRY_MS}\n\n"


def _news_with_retry(news: list[str], limited: bool) -> list[str]:  # noqa: FBT001
    """Return the news, and where requests are limited that the client should soon ask again."""
    return [*news, f"retry: {RETRY_MS}\n\n"] if limited and news else news


async def _while_allowed(
    news: list[str], follower: Follower, check_seconds: float
) -> AsyncGenerator[str, None]:
    """Yield events; raise OpenCrabError if the client lost its access while it took them slowly."""
    loop = asyncio.get_running_loop()
    checked = loop.time()
    for event in news:
        yield event
        if loop.time() - checked >= check_seconds:
            await run_in_threadpool(follower.check_access)
            checked = loop.time()
