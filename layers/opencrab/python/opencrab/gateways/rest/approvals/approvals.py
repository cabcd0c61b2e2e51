"""Approvals: what waits for a human, what was decided, the decision itself, and links to it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.approvals.call_text import ShownHash, name_of_call_for_approval
from opencrab.domain.errors import Conflict
from opencrab.domain.value import ShortText, Value
from opencrab.engine.access.list_cursor import principal_place_hider
from opencrab.engine.access.visibility import collect_items_with_access, may_principal_see_session
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.approvals.call_card import stored_approval_call_card
from opencrab.engine.approvals.signed_links import create_approval_link
from opencrab.gateways.rest.http.access import (
    Caller,
    Reader,
    Talker,
    may_http_caller_see_details,
)
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import (
    Page,
    PageQuery,
    http_cursor_after,
    unhidden_place_in_http_cursor,
)
from opencrab.ports.home import Home

router = http_routes_below("/api/approvals", "approvals")

PATH = "/approve?t="
"""Where links lead, on the same host as the API and outside of it.

What a link proves is in its query, as logs of requests are written without that.
"""


class ApprovalFilter(StrEnum):
    """The states of approvals that a list contains."""

    OPEN = "open"
    DECIDED = "decided"


class ApprovalsQuery(PageQuery, defer_build=False):
    """The state of the listed approvals, and the part of the list."""

    state: ApprovalFilter = ApprovalFilter.OPEN


class ApprovalDecisionBody(Value, defer_build=False):
    """A decision on a call."""

    approved: bool
    reason: ShortText = ""
    argument_hash: ShownHash | None = Field(
        default=None, description="of the call that you read; 409 if another one waits"
    )


class LinkBody(Value, defer_build=False):
    """The lifetime of a link."""

    hours: Annotated[int, Field(ge=1, le=168)] = 24


class OpenedView(Value):
    """A call that waits or waited for approval: what it does and what it touches, in short.

    `argument_hash` is the SHA-256 of exactly what will run, null for keys that may not decide.
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
    argument_hash: str | None
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
        """Convert a stored approval to its view; without `whole`, only the action is named."""
        shown = {name: getattr(approval, name) for name in OpenedView.model_fields}
        if not whole:
            shown |= {
                "what": name_of_call_for_approval(approval.action, approval.impact.value),
                "touches": "",
                "argument_hash": None,
            }
        return cls(**shown)


class WholeView(OpenedView):
    """An approval with the exact arguments of its call, for those who may decide it.

    They are null for others, and when the turn's records have expired. `text` are the arguments for
    people to read, with hidden characters written as `⟨U+202E⟩`. `diff` is the unified diff of what
    the call would change now, written so too; null if it changes no text, or nothing, and for
    delegates if a user asked for the call.
    """

    arguments: dict[str, Any] | None
    text: str | None
    diff: str | None


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
    items, place = collect_items_with_access(
        lambda after, limit: approvals.open_or_decided_approvals(
            api.runtime.home.facts,
            decided=query.state is ApprovalFilter.DECIDED,
            after=after,
            limit=limit,
        ),
        lambda found: _visible_approvals(api.runtime.home, caller, found),
        lambda approval: approval.id,
        after=unhidden_place_in_http_cursor(api.runtime, listing, query.cursor),
        limit=query.limit,
        hide=principal_place_hider(api.runtime, listing),
    )
    agents = {approval.agent_id for approval in items}
    seen = {
        agent_id
        for agent_id in agents
        if may_http_caller_see_details(api.runtime.home.agents, agent_id, caller)
    }
    shown = (OpenedView.of(approval, whole=approval.agent_id in seen) for approval in items)
    return Page(items=tuple(shown), next_cursor=http_cursor_after(listing, place))


@router.get("/{approval_id}")
def get_approval(api: Api, caller: Reader, approval_id: Id) -> WholeView:
    """Get one approval.

    Owners and delegates see the exact arguments of the call, and what it changes.
    """
    approval = _find_visible(api.runtime.home, caller, approval_id)
    whole = may_http_caller_see_details(api.runtime.home.agents, approval.agent_id, caller)
    card = (
        stored_approval_call_card(api.runtime, approval, is_owner=caller.is_owner)
        if whole
        else None
    )
    shown = dict(OpenedView.of(approval, whole=whole))
    if card is None:
        return WholeView(**shown, arguments=None, text=None, diff=None)
    return WholeView(**shown, arguments=card.arguments, text=card.text, diff=card.diff or None)


@router.post("/{approval_id}/decide", response_model=OpenedView)
def decide_approval(
    api: Api, caller: Talker, approval_id: Id, once: Repeatable, body: Strict[ApprovalDecisionBody]
) -> Response:
    """Approve or reject a call.

    Send the `argument_hash` of the call that you read: then no other one is decided.
    Owners may always decide, delegates as far as the agent's rules allow. The same decision by the
    same key again returns the same response.
    """

    def make() -> OpenedView:
        _find_visible(api.runtime.home, caller, approval_id)
        approval = approvals.decide_approval(
            api.runtime,
            approval_id,
            approved=body.approved,
            who=_decider(caller),
            reason=body.reason,
            shown_hash=body.argument_hash,
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
    body: Strict[LinkBody] | None = None,
) -> LinkView:
    """Create a signed link that lets somebody without a key decide.

    Anyone who has the link can decide once in your name. A repeated request creates the link again.
    """
    runtime, wish = api.runtime, body or LinkBody()
    approval = _find_visible(runtime.home, caller, approval_id)
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
    token = create_approval_link(runtime, approval_id, key_id=caller.principal.key_id, until=until)
    path = f"{PATH}{token}"
    url = f"{str(request.base_url).rstrip('/')}{path}"
    return LinkView(url=url, path=path, expires_at=until)


def _find_visible(home: Home, caller: Caller, approval_id: str) -> Approval:
    """Find an approval; raises NotFound for one that the caller does not see."""
    approval = approvals.find_approval(home.facts, approval_id)
    if not _visible_approvals(home, caller, (approval,)):
        raise approvals.approval_not_found_error(approval_id)
    return approval


def _visible_approvals(home: Home, caller: Caller, found: Sequence[Approval]) -> list[Approval]:
    """Return the approvals of sessions that the caller sees, and those that it may decide."""

    @cache
    def decides(agent_id: str) -> bool:
        return may_http_caller_see_details(home.agents, agent_id, caller)

    @cache
    def seen(session_id: str) -> bool:
        return may_principal_see_session(home, caller.principal, session_id)

    return [each for each in found if decides(each.agent_id) or seen(each.session_id)]


def _decider(caller: Caller) -> Decider:
    return Decider(id=caller.principal.id, is_owner=caller.is_owner)
