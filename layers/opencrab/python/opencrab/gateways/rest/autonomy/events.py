"""Happenings: what an owner's systems tell an agent, which looks at it with its next beat."""

from datetime import datetime

from fastapi import Response

from opencrab.engine.agents.events import EventReceipt, News, send_event_to_agent
from opencrab.engine.agents.received_events import received_events_of_agent
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of, id_in_http_cursor
from opencrab.gateways.rest.http.view import View

LISTING = "received-events"

router = http_routes_below("/api/agents/{agent_id}", "agents")


class ReceivedEventView(View):
    """An event that an agent received; `tainted` if its text is from an untrusted source.

    `source` is where it came from, such as a world. `opportunity` says that it may be worth a goal.
    """

    id: str
    type: str
    source: str
    text: str
    session_id: str
    tainted: bool
    opportunity: bool
    at: datetime


@router.post("/events", status_code=202, response_model=EventReceipt, operation_id="tell_event")
def send_event_for_heartbeat(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[News]
) -> Response:
    """Send an agent an event.

    Its text is untrusted unless the request marks it as trusted.
    """
    key = once.id_of("event")
    return once.answer(
        body, lambda: send_event_to_agent(api.runtime, agent_id, body, key=key), status=202
    )


@router.get("/received-events")
def list_received_events(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> Page[ReceivedEventView]:
    """List the events that an agent received in the last 7 days, newest first.

    Those that it does not subscribe to are not stored.
    """
    after = id_in_http_cursor(LISTING, query.cursor)
    found = received_events_of_agent(api.runtime, agent_id, after=after, limit=query.limit + 1)
    items, cursor = http_page_of(LISTING, found, query.limit, lambda each: each.id)
    return Page(items=tuple(map(ReceivedEventView.of, items)), next_cursor=cursor)
