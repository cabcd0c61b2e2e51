"""Event stream: server-sent events of one session, until the client leaves or there are no more."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.http.problem import problem_of_error
from opencrab.ports.clock import Clock

HEARTBEAT_SECONDS = 15.0
CHECK_SECONDS = 15.0
RETRY_MS = 1_000


class Follower(Protocol):
    """The position of one client in a stream; it is read in a thread, call by call."""

    @property
    def is_over(self) -> bool:
        """True if no more events will come."""

    def new_events(self) -> list[str]:
        """Return the events since the last call; raises OpenCrabError."""


class CheckedFollower:
    """A follower that is asked every `CHECK_SECONDS` whether its client may still read.

    A key may have been revoked, or a session may no longer be shared. Then `check` raises
    OpenCrabError, which ends the stream.
    """

    def __init__(self, follower: Follower, check: Callable[[], object], clock: Clock) -> None:
        self._follower = follower
        self._check = check
        self._clock = clock
        self._checked_ms = clock.monotonic_ms()

    @property
    def is_over(self) -> bool:
        """True if no more events will come."""
        return self._follower.is_over

    def new_events(self) -> list[str]:
        """Return the events since the last call; raises OpenCrabError."""
        if self._clock.monotonic_ms() - self._checked_ms >= CHECK_SECONDS * 1_000:
            self._check()
            self._checked_ms = self._clock.monotonic_ms()
        return self._follower.new_events()


def event_stream_response(stream: AsyncIterator[str]) -> StreamingResponse:
    """Return a stream as a response that proxies neither cache nor buffer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def events(
    api: RestContext,
    session_id: str,
    follower: Follower,
    seconds: float | None,
    *,
    look_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncIterator[str]:
    """Stream the follower's events, sleeping until there may be more.

    Args:
        api: The installation.
        session_id: The session whose changes end a sleep.
        follower: Returns the new events.
        seconds: The duration of the stream; None for no end.
        look_seconds: The longest sleep, for changes that wake no one.
    """
    loop = asyncio.get_running_loop()
    deadline = math.inf if seconds is None else loop.time() + seconds
    yield f"retry: {RETRY_MS}\n\n"
    async with api.watch.watching(session_id) as next_change:
        quiet_since = loop.time()
        while loop.time() < deadline:
            try:
                news = await run_in_threadpool(follower.new_events)
            except OpenCrabError as error:
                yield f"event: problem\ndata: {bytes(problem_of_error(error).body).decode()}\n\n"
                return
            for event in news:
                yield event
            if follower.is_over:
                return
            if news:
                quiet_since = loop.time()
                continue
            if loop.time() - quiet_since >= HEARTBEAT_SECONDS:
                yield ": still here\n\n"
                quiet_since = loop.time()
            now = loop.time()
            left = min(look_seconds, quiet_since + HEARTBEAT_SECONDS - now, deadline - now)
            if await next_change(max(left, 0.0)):
                return
