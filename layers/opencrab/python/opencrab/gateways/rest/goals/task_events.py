"""Task events: a task's progress as server-sent events, each time that it changes.

Each event is the whole progress, so nobody who was away misses what still holds.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Value
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.goals.task_views import find_visible_goal, goal_task_view, task_in_front
from opencrab.gateways.rest.http.access import Caller, Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.event_stream import (
    CheckedFollower,
    http_event_stream_response,
    stream_http_events,
)
from opencrab.gateways.rest.http.polling import POLL_SECONDS

_EVENT_ID = 16

router = http_routes_below("/api/agents/{agent_id}/tasks", "tasks", takes_json=False)

_STREAM = {
    "description": "Events `progress` (id: a mark of its content; data: the task as in GET), the "
    "first at once and one for each change, with a comment at least every 15 seconds. It ends with "
    "the task; where answers are not streamed, with each change.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


class TaskEventsQuery(Value, defer_build=False):
    """The duration of the stream."""

    seconds: Annotated[int, Field(ge=1, le=86_400)] | None = Field(
        default=None,
        description="end the stream after this number of seconds; the client reconnects",
    )


class TaskFollower:
    """The state of a task that one client has seen; it is read in a thread, call by call."""

    def __init__(
        self, runtime: Runtime, goal: Goal, caller: Caller, *, seen: str, once: bool
    ) -> None:
        self.is_over = self.is_busy = False
        self._once = once
        self._runtime = runtime
        self._goal = goal
        self._caller = caller
        self._seen = seen
        self._place: tuple[object, ...] = ()

    def new_events(self) -> list[str]:
        """Return the progress as an event if the client has not seen it; `once` makes it the last.

        If neither the goal, its turn's header nor the task in front has changed, nothing else is
        read.
        """
        fact = require_goal_document(self._runtime.home.facts, self._goal.agent_id, self._goal.id)
        goal = fact.read(Goal)
        place = (fact.version, task_in_front(self._runtime.home, goal), *self._turn(goal.turn_id))
        if place == self._place:
            return []
        self._place = place
        told = goal_task_view(self._runtime, goal, self._caller)
        self.is_over = told.over
        data = told.model_dump_json()
        event_id = content_hash(data.encode())[:_EVENT_ID]
        if event_id == self._seen:
            return []
        self._seen = event_id
        self.is_over = told.over or self._once
        return [f"id: {event_id}\nevent: progress\ndata: {data}\n\n"]

    def _turn(self, turn_id: str | None) -> tuple[object, ...]:
        """Return the fields of a turn's header that change with its progress."""
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
)
async def task_events(
    *,
    api: Api,
    caller: Reader,
    agent_id: Id,
    task_id: Id,
    query: Annotated[TaskEventsQuery, Query()],
    last_event_id: Annotated[
        str | None,
        Header(max_length=200, description="id of the last event received; it is not sent again"),
    ] = None,
) -> StreamingResponse:
    """Follow a task's progress as server-sent events.

    The stream ends with the task.
    """
    goal = await run_in_threadpool(find_visible_goal, api.runtime.home, caller, agent_id, task_id)
    once = api.longest_seconds is not None
    view = TaskFollower(api.runtime, goal, caller, seen=last_event_id or "", once=once)
    seconds = api.capped_wait(query.seconds)

    def check() -> None:
        principal = conversation_connection_holder(api.runtime.home.keys, caller.key_hash)
        find_visible_goal(api.runtime.home, replace(caller, principal=principal), agent_id, task_id)

    follower = CheckedFollower(view, check, api.runtime.clock)
    # A model call or an action that begins wakes nobody, so it is looked for.
    return http_event_stream_response(
        stream_http_events(
            api,
            goal.session_id,
            follower,
            seconds,
            language=caller.language,
            look_seconds=POLL_SECONDS,
        )
    )
