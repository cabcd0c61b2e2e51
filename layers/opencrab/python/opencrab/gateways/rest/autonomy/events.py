"""Happenings: what an owner's systems tell an agent, which looks at it with its next beat."""

from fastapi import Response

from opencrab.engine.agents.events import EventReceipt, News, send_event_to_agent
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/agents/{agent_id}", "agents")


@router.post("/events", status_code=202, response_model=EventReceipt)
def tell_event(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[News]
) -> Response:
    """Send an agent an event.

    Its text is untrusted unless the request marks it as trusted.
    """
    key = once.id_of("event")
    return once.answer(
        body, lambda: send_event_to_agent(api.runtime, agent_id, body, key=key), status=202
    )
