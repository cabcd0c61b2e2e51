"""Logs over REST: the sessions of one agent, and their lines as they were written down."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from opencrab.domain.conversation.session import Hearing, SessionStatus
from opencrab.engine.memory import reading
from opencrab.gateways.rest.conversation.lines import LAST, LineView, Sequence
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import (
    Page,
    Paged,
    PageQuery,
    http_page_cursor,
    id_in_http_cursor,
    sequence_in_http_cursor,
)
from opencrab.gateways.rest.http.view import View

LISTING, LINES = "memory-sessions", "memory-lines"

router = http_routes_below("/api/agents/{agent_id}/memory/sessions", "memory")


class LogQuery(PageQuery, defer_build=False):
    """The part and the order of a session's lines; `first` and `last` are included."""

    order: Literal["oldest", "newest"] = "oldest"
    first: Sequence = Field(default=0, description="no lines before this one")
    last: Sequence = Field(default=LAST, description="number of the last line to return, inclusive")


class LogView(View):
    """A session of the agent: who may read it, and its number of lines."""

    id: str
    name: str | None
    theme: str
    status: SessionStatus
    hearing: Hearing
    guild_id: str | None
    lines: int
    created_at: datetime
    last_at: datetime | None


@router.get("")
def list_memory_sessions(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> Page[LogView]:
    """List the sessions of an agent, in order of their ids."""
    after = id_in_http_cursor(LISTING, query.cursor) or None
    found, place = reading.session_logs_for_memory(
        api.runtime.home, agent_id, after=after, limit=query.limit
    )
    cursor = None if place is None else http_page_cursor(LISTING, place)
    shown = (LogView.of(log.session, lines=log.lines, last_at=log.last_at) for log in found)
    return Page(items=tuple(shown), next_cursor=cursor)


@router.get("/{session_id}")
def get_memory_session(
    api: Api, _caller: Owner, agent_id: Id, session_id: Id, query: Annotated[LogQuery, Query()]
) -> Page[LineView]:
    """List the lines of a session as the agent recorded it.

    The agent's own thoughts and actions are included. `first` and `last` are sequences of lines, as
    in a summary's sources and in search results.
    """
    newest = query.order == "newest"
    place = sequence_in_http_cursor(f"{LINES}-{query.order}", query.cursor)
    after, before = max(query.first - 1, 0), query.last + 1
    if place is not None:
        after, before = (after, min(place, before)) if newest else (max(place, after), before)
    found, last = reading.lines_in_agent_memory(
        api.runtime.home,
        agent_id,
        session_id,
        after=after,
        before=before,
        limit=query.limit,
        newest_first=newest,
    )
    cursor = None if last is None else http_page_cursor(f"{LINES}-{query.order}", str(last))
    return Page(items=tuple(map(LineView.of, found)), next_cursor=cursor)
