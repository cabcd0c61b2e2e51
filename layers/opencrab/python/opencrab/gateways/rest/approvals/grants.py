"""Grants: leave that an owner gives an agent beforehand, with a budget of calls and an end."""

from datetime import datetime
from functools import partial

from fastapi import Response

from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid
from opencrab.engine.approvals import grants
from opencrab.engine.approvals.grants import NewGrant
from opencrab.gateways.rest.http.access import AgentReader, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of_list
from opencrab.gateways.rest.http.view import View

LISTING = "grants"

router = http_routes_below("/api/agents/{agent_id}/grants", "approvals")


class GrantView(View):
    """A grant and the number of its calls that are used."""

    id: str
    agent_id: str
    actions: tuple[str, ...]
    impacts: tuple[Impact, ...]
    touches: str
    calls: int
    used: int
    until: datetime
    by: str
    created_at: datetime


@router.get("")
def list_grants(api: Api, _caller: AgentReader, agent_id: Id, query: Paged) -> Page[GrantView]:
    """List grants that have not ended, oldest first."""
    read = partial(grants.open_approval_grants, api.runtime, agent_id)
    items, cursor = http_page_of_list(LISTING, query, read, lambda grant: grant.id)
    return Page(items=tuple(map(GrantView.of, items)), next_cursor=cursor)


@router.post("", status_code=201, response_model=GrantView)
def create_grant(
    api: Api, caller: Owner, agent_id: Id, once: Repeatable, body: Strict[NewGrant]
) -> Response:
    """Allow a number of calls without approval until a given time.

    A turn that contains untrusted text asks for approval anyway.
    """
    if Impact.SPEECH in body.impacts:
        raise Invalid(
            "impact speech needs no grant and cannot be granted",
            field="impacts",
            cure="use read, self, shared or external",
        )

    def make() -> GrantView:
        grant_id, by = once.id_of("grant"), caller.principal.id
        return GrantView.of(
            grants.grant_approval_in_advance(api.runtime, agent_id, body, by=by, grant_id=grant_id)
        )

    return once.answer(body, make, status=201)


@router.delete("/{grant_id}")
def revoke_grant(api: Api, _caller: Owner, agent_id: Id, grant_id: Id) -> GrantView:
    """Revoke a grant.

    No further call may use it.
    """
    return GrantView.of(grants.revoke_approval_grant(api.runtime.home.facts, agent_id, grant_id))
