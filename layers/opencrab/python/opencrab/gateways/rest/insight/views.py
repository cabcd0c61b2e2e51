"""Views: an agent's state, its history, its vitals, and all of them as panes."""

import json
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.value import Value
from opencrab.engine.insight import event_log as history
from opencrab.engine.insight.agent_state import State, agent_state_for_insight
from opencrab.engine.insight.panes import Pane, insight_panes
from opencrab.engine.insight.vitals import Vitals, agent_vitals_for_insight
from opencrab.gateways.rest.http.access import MetricsReader, Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import JSON_LINES, NEXT, cursor_place, http_page_cursor

LISTING = "history"

router = http_routes_below("/api/agents/{agent_id}", "agents")

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One event per line: input, thought, action or result.",
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
        "headers": {
            NEXT: {
                "description": "`after` of the next page; unchanged if there is nothing new",
                "schema": {"type": "string"},
            }
        },
    }
}


class HistoryQuery(Value, defer_build=False):
    """The part of a history that a request asks for."""

    after: Annotated[str, Field(max_length=4_000)] | None = Field(
        default=None, description=f"the header {NEXT} of the previous page"
    )
    limit: Annotated[int, Field(ge=1, le=history.MOST)] = Field(
        default=100, description="maximum number of events on the page"
    )


class PanesView(Value):
    """The five panes of the dashboard."""

    items: tuple[Pane, ...]


@router.get("/state", response_model=State, operation_id="get_state")
def get_insight_state(api: Api, _caller: Owner, agent_id: Id) -> Response:
    """Get an agent's input, plan, thought, action and result.

    The JSON is indented.
    """
    shown = agent_state_for_insight(api.runtime, agent_id).model_dump(mode="json")
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    return Response(f"{text}\n".encode(), media_type="application/json")


@router.get("/events", response_class=Response, responses=_EVENTS, operation_id="agent_events")
def get_insight_events(
    api: Api, _caller: Owner, agent_id: Id, query: Annotated[HistoryQuery, Query()]
) -> Response:
    """Get an agent's history as JSON Lines, oldest turns first.

    Events are never changed after they were written.
    """
    page = history.page_of_insight_events(
        api.runtime, agent_id, after=cursor_place(LISTING, query.after), limit=query.limit
    )
    lines = (event.model_dump_json() + "\n" for event in page.events)
    headers = {NEXT: http_page_cursor(LISTING, page.place)} if page.place else {}
    return Response("".join(lines).encode(), media_type=JSON_LINES, headers=headers)


@router.get("/vitals", operation_id="get_vitals")
def get_insight_vitals(api: Api, _caller: MetricsReader, agent_id: Id) -> Vitals:
    """Get an agent's vitals: turns, costs and the load of the machine.

    The machine's values are included only if it is the owner's own.
    """
    return agent_vitals_for_insight(api.runtime, agent_id, api.machine)


@router.get("/panes")
def get_panes(api: Api, _caller: Owner, agent_id: Id) -> PanesView:
    """Get the five panes of the dashboard: chat, cli, plan, inspector, vitals."""
    return PanesView(items=insight_panes(api.runtime, agent_id, api.machine))
