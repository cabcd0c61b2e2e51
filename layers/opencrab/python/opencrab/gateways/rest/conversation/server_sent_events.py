"""Events: a session as it happens, as server-sent events that resume without loss.

Lines carry their sequence as event id, so a client that reconnects names the last one it saw and
gets everything after it. Changes of turns, and words of an answer that is still arriving, are news
only: whoever missed one asks for the turn, or waits for the line. In the format `agui` they are the
events that a WebSocket tells as well.
"""

import json
from typing import Annotated, Literal

from fastapi import Header, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.engine.access.visibility import require_session_access
from opencrab.engine.conversation import live_events
from opencrab.engine.conversation.answer_events import AnswerEvents
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.conversation.live import (
    VisibleKinds,
    collect_visible_session_lines,
    session_turn_change,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.lines import (
    LAST,
    LineView,
    ReaderLanguage,
    lines_visible_to,
)
from opencrab.gateways.rest.http.access import Caller, Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.event_stream import (
    CheckedFollower,
    http_event_stream_response,
    stream_http_events,
)
from opencrab.ports.conversation.answers import AnswerPart, CallProgress, NoWatchers

_BATCH = 100

router = http_routes_below("/api", "messages", takes_json=False)

_STREAM = {
    "description": "Events `line` (id: its sequence; data: a line as in GET messages), `turn` "
    "(data: turn_id, agent_id, status) and `answer` (data: turn_id, agent_id, call, text, "
    "starts_over, ended: the next words of an answer that is still arriving, all of which its line "
    "has), with a comment at least every 15 seconds. In the format `agui` there are events of "
    "AG-UI instead; the last one of a line has its sequence as id.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


class EventsQuery(Value, defer_build=False):
    """The events to send, where to begin, and the duration of the stream."""

    after: Annotated[int, Field(ge=0, le=LAST)] | None = Field(
        default=None,
        description="send lines with a sequence number above this one; by default only new lines",
    )
    kinds: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="comma-separated kinds of lines, as in GET messages"
    )
    seconds: Annotated[int, Field(ge=1, le=86_400)] | None = Field(
        default=None,
        description="end the stream after this number of seconds; the client reconnects",
    )
    format: Literal["opencrab", "agui"] = Field(
        default="opencrab",
        description="`agui`: the events of a WebSocket, see docs/explanation/live-events.md",
    )


class SessionFollower:
    """The position of one client in one session; it is read in a thread, call by call."""

    is_over = False

    def __init__(
        self,
        runtime: Runtime,
        session_id: str,
        visible: VisibleKinds,
        place: int,
        *,
        agui: bool = False,
        language: Language = Language.EN,
    ) -> None:
        self._runtime = runtime
        self._agui = agui
        self._language = language
        self._home = runtime.home
        self._session_id = session_id
        self._visible = visible
        self._place = place
        self._position = runtime.home.feed.position() if runtime.home.feed else 0
        self._agents: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._moved: dict[str, str] = {}
        self._speaking: set[str] = set()
        self._is_awaiting = False
        answers = runtime.answers if LineKind.SPEECH in visible.kinds else NoWatchers()
        self._answers = answers.follow(lambda session, _agent: session == session_id)
        self._messages = AnswerEvents()

    @property
    def place(self) -> int:
        """The sequence number of the last line that was returned, or before which it began."""
        return self._place

    @property
    def is_busy(self) -> bool:
        """True while a turn that spoke has not ended, or a message is the last that was said."""
        return self._is_awaiting or bool(self._speaking)

    def new_events(self) -> list[str]:
        """Return everything new since the last call that the client may see, as events.

        A turn's status is read before the lines but returned after them, so that its lines come
        before the event that it ended. Parts of answers are taken after the lines, and returned
        before those of their turns: what was said comes before the line that has it.
        """
        self._moved |= self._changed()
        lines, more = self._lines()
        if more:
            return lines
        moved, self._moved = self._moved, {}
        return lines + [event for item in moved.items() if (event := self._turn_event(*item))]

    def _part_events(self, parts: tuple[AnswerPart, ...]) -> list[str]:
        parts = tuple(part for part in parts if self._visible.shows_part(part))
        if not self._agui:
            return [_part_event(part) for part in parts]
        now = self._runtime.clock.now()
        return [_data(event) for part in parts for event in self._messages.of_part(part, now)]

    def _lines(self) -> tuple[list[str], bool]:
        """Return the next lines as events with parts of answers, and whether there are more."""
        events: list[str] = []
        parts: tuple[AnswerPart, ...] = ()
        while True:
            lines, place = collect_visible_session_lines(
                self._home.journal,
                self._session_id,
                self._visible,
                after=self._place,
                limit=_BATCH,
            )
            parts += self._answers.take()
            for line in lines:
                self._is_awaiting = not line.turn_id
                if line.turn_id:
                    self._speaking.add(line.turn_id)
                if any(part.turn_id == line.turn_id for part in parts):
                    events += self._part_events(parts)
                    parts = ()
                events.append(self._line_event(line))
            self._place = place or (lines[-1].sequence if lines else self._place)
            if place is None or len(events) >= _BATCH:
                return events + self._part_events(parts), place is not None

    def _changed(self) -> dict[str, str]:
        """Return the newest status of each turn of the session that may have changed."""
        feed, moved = self._home.feed, dict[str, str]()
        if feed is None:
            return self._asked()
        while entries := feed.read(after=self._position, limit=_BATCH):
            self._position = entries[-1].position
            for entry in entries:
                if entry.kind == "turn" and entry.session_id == self._session_id and entry.turn_id:
                    moved[entry.turn_id] = entry.body
        return moved

    def _asked(self) -> dict[str, str]:
        """Read the status of each turn that spoke until it has ended, for want of a change feed."""
        found: dict[str, str] = {}
        for turn_id in sorted(self._speaking):
            try:
                turn = self._home.journal.header(turn_id)
            except NotFound:
                # Lines stay for ever; turns are kept for some weeks.
                self._speaking.discard(turn_id)
                continue
            if turn.status.is_end:
                self._speaking.discard(turn_id)
            self._agents[turn_id] = turn.agent_id
            found[turn_id] = turn.status.value
        return found

    def _line_event(self, line: Line) -> str:
        if self._agui:
            *others, last = map(_data, self._messages.of_line(line))
            return "".join((*others, f"id: {line.sequence}\n{last}"))
        shown = LineView.described(line, self._runtime.actions, self._language)
        data = shown.model_dump_json()
        return f"id: {line.sequence}\nevent: line\ndata: {data}\n\n"

    def _turn_event(self, turn_id: str, status: str) -> str:
        if self._told.get(turn_id) == status:
            return ""
        self._told[turn_id] = status
        if self._agui:
            found = session_turn_change(self._runtime, turn_id, status)
            if found is None:
                return ""
            is_silent = found.status is not TurnStatus.RUNNING
            ended = self._messages.of_turn(turn_id, found.at) if is_silent else ()
            return "".join(map(_data, (*ended, *live_events.live_session_events_of_turn(found))))
        if turn_id not in self._agents:
            self._agents[turn_id] = self._home.journal.header(turn_id).agent_id
        told = {"turn_id": turn_id, "agent_id": self._agents[turn_id], "status": status}
        return f"event: turn\ndata: {json.dumps(told)}\n\n"


@router.get(
    "/sessions/{session_id}/events",
    response_class=StreamingResponse,
    responses={200: _STREAM},
)
async def session_events(
    *,
    api: Api,
    caller: Reader,
    session_id: Id,
    query: Annotated[EventsQuery, Query()],
    language: ReaderLanguage,
    last_event_id: Annotated[
        str | None,
        Header(description="id of the last event received; takes precedence over `after`"),
    ] = None,
) -> StreamingResponse:
    """Follow a session as server-sent events.

    The stream ends when the client disconnects or the time is up.
    """
    visible = lines_visible_to(caller, query.kinds)
    after = query.after if last_event_id is None else last_session_event_sequence(last_event_id)
    agui = query.format == "agui"
    progress = await run_in_threadpool(
        _begin, api.runtime, caller, session_id, visible, after, agui=agui, language=language
    )

    def check() -> None:
        principal = conversation_connection_holder(api.runtime.home.keys, caller.key_hash)
        require_session_access(api.runtime.home, principal, session_id)

    follower = CheckedFollower(progress, check, api.runtime.clock)
    return http_event_stream_response(
        stream_http_events(
            api,
            session_id,
            follower,
            api.capped_wait(query.seconds),
            begin=f"id: {progress.place}\n",
            language=language,
        )
    )


def last_session_event_sequence(event_id: str) -> int:
    """Parse the sequence in a Last-Event-ID; raises Invalid."""
    if not (event_id.isascii() and event_id.isdecimal() and len(event_id) <= len(str(LAST))):
        raise Invalid(
            "Last-Event-ID is not the ID of an event",
            field="Last-Event-ID",
            cure="send the ID of the last event that you received, or omit it",
        )
    return min(int(event_id), LAST)


def _begin(
    runtime: Runtime,
    caller: Caller,
    session_id: str,
    visible: VisibleKinds,
    after: int | None,
    *,
    agui: bool,
    language: Language,
) -> SessionFollower:
    require_session_access(runtime.home, caller.principal, session_id)
    runtime.home.sessions.get(session_id)
    if after is None:
        newest = runtime.home.journal.lines(session_id, limit=1, newest_first=True)
        after = newest[0].sequence if newest else 0
    return SessionFollower(runtime, session_id, visible, after, agui=agui, language=language)


def _part_event(part: AnswerPart) -> str:
    if part.progress is not None:
        return _progress_event(part, part.progress)
    said = {
        "turn_id": part.turn_id,
        "agent_id": part.agent_id,
        "call": part.n,
        "text": part.text,
        "starts_over": part.starts_over,
        "ended": part.ended,
    }
    return f"event: answer\ndata: {json.dumps(said, ensure_ascii=False)}\n\n"


def _progress_event(part: AnswerPart, progress: CallProgress) -> str:
    moved = {
        "turn_id": part.turn_id,
        "agent_id": part.agent_id,
        "action": progress.action,
        "done": progress.done,
        "total": progress.total,
        "text": progress.text,
    }
    return f"event: call_progress\ndata: {json.dumps(moved, ensure_ascii=False)}\n\n"


def _data(event: live_events.Event) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
