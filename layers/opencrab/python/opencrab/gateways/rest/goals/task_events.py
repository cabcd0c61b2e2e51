"""Task events: a task's progress as server-sent events, each time that it changes.

Each event is the whole progress, so nobody who was away misses what still holds.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from opencrab.domain.errors import NotFound, OpenCrabError
from opencrab.domain.goals.goal import Goal
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Value
from opencrab.engine.goals.pausing import goal_fact
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.server_sent_events import HEARTBEAT_SECONDS, RETRY_MS
from opencrab.gateways.rest.goals.task_views import front_of, stored, task_view
from opencrab.gateways.rest.http.access import Caller, Reader
from opencrab.gateways.rest.http.dependencies import Api, Id, Rest
from opencrab.gateways.rest.http.polling import POLL_SECONDS
from opencrab.gateways.rest.http.problem import of_error

_EVENT_ID = 16

router = APIRouter(prefix="/api/agents/{agent_id}/tasks", tags=["tasks"])

_STREAM = {
    "description": "Events `progress` (id: a mark of its content; data: the task as in GET), the "
    "first at once and one for each change, with a comment at least every 15 seconds. It ends with "
    "the task; where answers are not streamed, with each change.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


class TaskEventsQuery(Value, defer_build=False):
    """For how long."""

    seconds: Annotated[int, Field(ge=1, le=86_400)] | None = Field(
        default=None, description="end after so long; the client reconnects"
    )


class View:
    """What one client has seen of a task; it is read in a thread, look by look."""

    def __init__(self, runtime: Runtime, goal: Goal, caller: Caller, *, seen: str) -> None:
        self.session_id = goal.session_id
        self.over = False
        self._runtime = runtime
        self._goal = goal
        self._caller = caller
        self._seen = seen
        self._place: tuple[object, ...] = ()

    def news(self) -> str | None:
        """The progress as an event, if the client has not seen it yet.

        While neither the goal, its turn's header nor what it waits for has changed, nothing else is
        read.
        """
        fact = goal_fact(self._runtime, self._goal.agent_id, self._goal.id)
        goal = fact.read(Goal)
        place = (fact.version, front_of(self._runtime, goal), *self._turn(goal.turn_id))
        if place == self._place:
            return None
        self._place = place
        told = task_view(self._runtime, goal, self._caller)
        self.over = told.over
        data = told.model_dump_json()
        event_id = content_hash(data.encode())[:_EVENT_ID]
        if event_id == self._seen:
            return None
        self._seen = event_id
        return f"id: {event_id}\nevent: progress\ndata: {data}\n\n"

    def _turn(self, turn_id: str | None) -> tuple[object, ...]:
        """What of a turn's header tells that there is something new in it."""
        if turn_id is None:
            return ()
        try:
            turn = self._runtime.home.journal.header(turn_id)
        except NotFound:
            return (turn_id,)
        return turn_id, turn.sequence, turn.status, turn.epoch, turn.attempts


@router.get(
    "/{task_id}/events",
    response_class=StreamingResponse,
    responses={200: _STREAM},
    summary="Follow a task",
    operation_id="task_events",
)
async def task_events(
    *,
    api: Api,
    caller: Reader,
    agent_id: Id,
    task_id: Id,
    query: Annotated[TaskEventsQuery, Query()],
    last_event_id: Annotated[
        str | None, Header(max_length=200, description="the last event seen: it is not sent again")
    ] = None,
) -> StreamingResponse:
    """A task's progress each time that it changes, until the task ends."""
    fact = await run_in_threadpool(stored, api.runtime, agent_id, task_id)
    view = View(api.runtime, fact.read(Goal), caller, seen=last_event_id or "")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = _events(api, view, api.within(query.seconds))
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def _events(api: Rest, view: View, seconds: float | None) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    deadline = float("inf") if seconds is None else loop.time() + seconds
    yield f"retry: {RETRY_MS}\n\n"
    async with api.watch.watching(view.session_id) as next_change:
        quiet_since = loop.time()
        while loop.time() < deadline:
            try:
                event = await run_in_threadpool(view.news)
            except OpenCrabError as error:
                yield f"event: problem\ndata: {bytes(of_error(error).body).decode()}\n\n"
                return
            if event is not None:
                yield event
                quiet_since = loop.time()
            if view.over or (event is not None and api.longest_seconds is not None):
                return
            if loop.time() - quiet_since >= HEARTBEAT_SECONDS:
                yield ": still here\n\n"
                quiet_since = loop.time()
            # A model call or an action that begins wakes nobody, so it is looked for.
            if await next_change(max(0.0, min(POLL_SECONDS, deadline - loop.time()))):
                return
