"""The address of a signed link: it shows what is asked, and only its buttons decide.

The proof is in the query, which no log of requests holds; the form goes back to the same address.
To look changes nothing, as programs that scan mails look at every link.
"""

from collections.abc import Callable
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.errors import Conflict, NotFound, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.signed_links import (
    SignedLink,
    decider_of_approval_link,
    read_approval_link,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.approvals.signed_link_page import (
    APPROVE,
    DECISION,
    REJECT,
    approval_page,
    approval_page_text,
    decision_page,
)
from opencrab.gateways.rest.http.accept_language import preferred_language
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.ports.agents import Agents

router = APIRouter(include_in_schema=False)

_FORM = "application/x-www-form-urlencoded"
_MOST = 1_000

Token = Annotated[str, Query(alias="t")]


@router.get("/approve")
def show(api: Api, request: Request, token: Token = "") -> Response:
    """The question behind a link, or why it can no longer be answered."""
    return _resolve_link(api.runtime, token, request, _approval_page)


@router.post("/approve")
async def answer(api: Api, request: Request, token: Token = "") -> Response:
    """Decide as the button says."""
    choice = _choice(request.headers.get("content-type", ""), await request.body())
    return await run_in_threadpool(_decide_by_link, api.runtime, token, request, choice)


def _decide_by_link(runtime: Runtime, token: str, request: Request, choice: str | None) -> Response:
    def decide(runtime: Runtime, link: SignedLink, approval: Approval) -> Response:
        language = _agent(runtime.home.agents, approval)[1]
        if choice is None:
            return approval_page_text("unclear", language, 422)
        approved = choice == APPROVE
        try:
            who = decider_of_approval_link(runtime.home.keys, link)
            made = approvals.decide_approval(runtime, approval.id, approved=approved, who=who)
        except Refused:
            return approval_page_text("refused", language, 403)
        except Conflict:
            return decision_page(
                approvals.find_approval(runtime.home.facts, approval.id), language, 409
            )
        return decision_page(made, language, 200)

    return _resolve_link(runtime, token, request, decide)


def _resolve_link(
    runtime: Runtime,
    token: str,
    request: Request,
    then: Callable[[Runtime, SignedLink, Approval], Response],
) -> Response:
    """What a link leads to, if it was made here, its time is not over, and it has an approval."""
    theirs = preferred_language(request.headers.get("accept-language", ""))
    try:
        link = read_approval_link(runtime.secrets, token)
        approval = approvals.find_approval(runtime.home.facts, link.approval_id)
    except (Refused, NotFound):
        return approval_page_text("forged", theirs, 403)
    except Unavailable:
        return approval_page_text("busy", theirs, 503)
    language = _agent(runtime.home.agents, approval)[1]
    if approval.state is ApprovalState.PENDING and runtime.clock.now() >= link.until:
        return approval_page_text("over", language, 410)
    return then(runtime, link, approval)


def _approval_page(runtime: Runtime, link: SignedLink, approval: Approval) -> Response:
    name, language = _agent(runtime.home.agents, approval)
    if approval.state is not ApprovalState.PENDING:
        return decision_page(approval, language, 410)
    try:
        decider_of_approval_link(runtime.home.keys, link)
    except Refused:
        return approval_page_text("refused", language, 403)
    return approval_page(approval, name, language)


def _agent(agents: Agents, approval: Approval) -> tuple[str, Language]:
    agent = agents.get(approval.agent_id).agent
    return agent.name, agent.language


def _choice(media_type: str, content: bytes) -> str | None:
    """The button that was pressed; None for anything that no button sends."""
    if media_type.partition(";")[0].strip().lower() != _FORM or len(content) > _MOST:
        return None
    chosen = parse_qs(content.decode("ascii", "replace")).get(DECISION, [])
    return chosen[0] if chosen in ([APPROVE], [REJECT]) else None
