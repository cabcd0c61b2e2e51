"""Approvals: what waits for a human, what was decided, the decision itself, and links to it."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import action_arguments
from opencrab.domain.value import ShortText, Value
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.approvals.signed_links import create_approval_link
from opencrab.gateways.rest.http.access import (
    Caller,
    Reader,
    Talker,
    caller_sees_approvals,
    named_session_only,
)
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, PageQuery, page_of, page_place

router = routes_below("/api/approvals", "approvals")

PATH = "/approve?t="
"""Where links lead, on the same host as the API and outside of it.

What a link proves is in its query, as logs of requests are written without that.
"""


class Listed(StrEnum):
    """Which approvals."""

    OPEN = "open"
    DECIDED = "decided"


class ApprovalsQuery(PageQuery, defer_build=False):
    """Which approvals, and which part of them."""

    state: Listed = Listed.OPEN


class Verdict(Value, defer_build=False):
    """Whether the call may run."""

    approved: bool
    reason: ShortText = ""


class LinkWish(Value, defer_build=False):
    """How long a link is valid."""

    hours: Annotated[int, Field(ge=1, le=168)] = 24


class OpenedView(Value):
    """A call that waits or waited for approval: what it does and what it touches.

    `tainted` says that the turn contains untrusted text. `by` is an id of a key, or `link:` and the
    beginning of one, or `nobody` if it expired or its turn ended. Keys that may not decide see
    which action it is, but not its arguments.
    """

    id: str
    agent_id: str
    session_id: str
    turn_id: str
    action: str
    impact: Impact
    what: str
    touches: str
    tainted: bool
    goal: str | None
    state: ApprovalState
    by: str | None
    reason: str
    created_at: datetime
    escalates_at: datetime | None
    escalated: bool
    expires_at: datetime | None
    decided_at: datetime | None

    @classmethod
    def of(cls, approval: Approval, *, whole: bool = True) -> "OpenedView":
        """A stored approval as it is shown."""
        shown = {name: getattr(approval, name) for name in OpenedView.model_fields}
        if not whole:
            shown |= {
                "what": named_session_only(approval.action, approval.impact.value),
                "touches": "",
            }
        return cls(**shown)


class WholeView(OpenedView):
    """An approval with the exact arguments of its call, which only owners are shown.

    They are null for others, and when the turn's records have expired.
    """

    arguments: dict[str, Any] | None


class LinkView(Value):
    """A link with which one approval can be decided without a key, in its creator's name.

    `url` uses the host of this request; `path` is for any other host.
    """

    url: str
    path: str
    expires_at: datetime


@router.get("")
def list_approvals(
    api: Api, caller: Reader, query: Annotated[ApprovalsQuery, Query()]
) -> Page[OpenedView]:
    """List open approvals, oldest first, or decided ones, newest first."""
    listing = f"{query.state.value}_approvals"
    found = approvals.page_of_approvals(
        api.runtime.home.facts,
        decided=query.state is Listed.DECIDED,
        after=page_place(listing, query.cursor) or "",
        limit=query.limit + 1,
    )
    items, cursor = page_of(listing, found, query.limit, lambda approval: approval.id)
    agents = {approval.agent_id for approval in items}
    seen = {
        agent_id
        for agent_id in agents
        if caller_sees_approvals(api.runtime.home.agents, agent_id, caller)
    }
    shown = (OpenedView.of(approval, whole=approval.agent_id in seen) for approval in items)
    return Page(items=tuple(shown), next_cursor=cursor)


@router.get("/{approval_id}")
def get_approval(api: Api, caller: Reader, approval_id: Id) -> WholeView:
    """Get one approval; owners see the exact arguments."""
    approval = approvals.find_approval(api.runtime.home.facts, approval_id)
    call = approvals.call_awaiting_approval(api.runtime.home, approval) if caller.is_owner else None
    arguments = None if call is None else action_arguments(call)
    whole = caller_sees_approvals(api.runtime.home.agents, approval.agent_id, caller)
    return WholeView(**dict(OpenedView.of(approval, whole=whole)), arguments=arguments)


@router.post("/{approval_id}/decide", response_model=OpenedView)
def decide_approval(
    api: Api, caller: Talker, approval_id: Id, once: Repeatable, body: Strict[Verdict]
) -> Response:
    """Approve or reject a call, once: owners always, delegates as the agent's rules allow.

    The same decision by the same key again returns the same response.
    """

    def make() -> OpenedView:
        approval = approvals.decide_approval(
            api.runtime,
            approval_id,
            approved=body.approved,
            who=_decider(caller),
            reason=body.reason,
        )
        return OpenedView.of(approval)

    return once.answer(body, make)


@router.post("/{approval_id}/link")
def link_approval(
    api: Api,
    caller: Talker,
    request: Request,
    approval_id: Id,
    _once: Repeatable,
    body: Strict[LinkWish] | None = None,
) -> LinkView:
    """Create a signed link with which somebody without a key can decide.

    Anyone who has the link can decide once in your name. A repeated request creates the link again.
    """
    runtime, wish = api.runtime, body or LinkWish()
    approval = approvals.find_approval(runtime.home.facts, approval_id)
    if approval.state is not ApprovalState.PENDING:
        raise Conflict(
            f"approval {approval_id!r} is {approval.state.value} already",
            cure="read it to see who decided and why",
        )
    agent = runtime.home.agents.get(approval.agent_id).agent
    approvals.require_approval_delegate(approval, agent, _decider(caller))
    until = runtime.clock.now() + timedelta(hours=wish.hours)
    if approval.expires_at is not None:
        until = min(until, approval.expires_at)
    token = create_approval_link(runtime, approval_id, key_id=caller.principal.id, until=until)
    path = f"{PATH}{token}"
    url = f"{str(request.base_url).rstrip('/')}{path}"
    return LinkView(url=url, path=path, expires_at=until)


def _decider(caller: Caller) -> Decider:
    return Decider(id=caller.principal.id, is_owner=caller.is_owner)
