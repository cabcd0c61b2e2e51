"""Promises over REST: who promised what to whom, and how code judged it."""

from datetime import datetime

from opencrab.domain.goals.promise import PromiseStatus
from opencrab.domain.value import Value
from opencrab.engine.discussion.promise_list import promises_of_agent
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agents/{agent_id}", "agents")


class PromiseView(View):
    """A promise of the agent `agent_id` to the agents `to`, made in a discussion.

    `evidence` is what code judged it by, `reason` why it was withdrawn.
    """

    id: str
    agent_id: str
    name: str
    to: tuple[str, ...]
    what: str
    done_when: str
    due: datetime
    status: PromiseStatus
    evidence: tuple[str, ...]
    reason: str
    goal_id: str
    session_id: str
    made_at: datetime
    ended_at: datetime | None


class PromisesView(Value):
    """The promises that an agent made, and those that others made to it.

    Open ones come first, then the newest; at most 20 of each.
    """

    made: tuple[PromiseView, ...]
    received: tuple[PromiseView, ...]


@router.get("/promises")
def list_promises(api: Api, _caller: Owner, agent_id: Id) -> PromisesView:
    """List the promises that an agent made, and those made to it.

    A kept or broken one has moved the trust of those to whom it was made.
    """
    found = promises_of_agent(api.runtime.home, agent_id)
    return PromisesView(
        made=tuple(map(PromiseView.of, found.made)),
        received=tuple(map(PromiseView.of, found.received)),
    )
