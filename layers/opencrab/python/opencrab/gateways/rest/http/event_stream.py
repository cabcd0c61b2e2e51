"""Event stream: server-sent events of one session, until the client leaves or there are no more."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Protocol

from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.http.problem import problem_of_error

HEARTBEAT_SECONDS = 15.0
RETRY_MS = 1_000


class Follower(Protocol):
    """What one client has seen so far; it is read in a thread, look by look."""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""

    def new_events(self) -> list[str]:
        """Everything that happened since the last look, as events; raises OpenCrabError."""


def event_stream_response(stream: AsyncIterator[str]) -> StreamingResponse:
    """A stream as an answer that no proxy keeps or collects."""
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
    """The stream itself: whatever is new, then a sleep until there may be more.

    Args:
        api: The installation.
        session_id: Whose changes end a sleep.
        follower: Tells the news.
        seconds: When the stream ends; None for never.
        look_seconds: The longest sleep, for news that wake nobody.
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
            if follower.over:
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
