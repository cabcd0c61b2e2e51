"""The address of a signed link: it shows what is asked, and only its buttons decide.

The proof is in the query, which no log of requests holds; the form goes back to the same address.
To look changes nothing, as programs that scan mails look at every link.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.discord.community import DISCORD_PRINCIPAL, Person, discord_authority
from opencrab.domain.errors import Conflict, NotFound, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.approvals.call_card import stored_approval_call_card
from opencrab.engine.approvals.signed_links import (
    SignedLink,
    decider_of_approval_link,
    read_approval_link,
)
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.runtime import Runtime
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.approvals.signed_link_page import (
    APPROVE,
    DECISION,
    HASH,
    REJECT,
    approval_decision_page,
    approval_link_question_page,
    approval_sentence_page,
)
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.ports.agents import Agents

router = APIRouter(include_in_schema=False)

_FORM = "application/x-www-form-urlencoded"
_MOST = 1_000

Token = Annotated[str, Query(alias="t")]


@dataclass(frozen=True)
class PageDecision:
    """A decision sent by the page, with the hash of the call that it showed."""

    approved: bool
    shown_hash: str | None


@router.get("/approve")
def show_approval_link_page(api: Api, request: Request, token: Token = "") -> Response:
    """Show the page of a link, or why it can no longer be used."""
    return _resolve_link(api.runtime, token, request, _approval_page)


@router.post("/approve", operation_id="answer")
async def answer_approval_link(api: Api, request: Request, token: Token = "") -> Response:
    """Decide the approval by the pressed button."""
    choice = _pressed_button(request.headers.get("content-type", ""), await request.body())
    return await run_in_threadpool(_decide_by_link, api.runtime, token, request, choice)


def _decide_by_link(
    runtime: Runtime, token: str, request: Request, choice: PageDecision | None
) -> Response:
    def decide(runtime: Runtime, link: SignedLink, approval: Approval) -> Response:
        language = _agent(runtime.home.agents, approval)[1]
        if choice is None:
            return approval_sentence_page("unclear", language, 422)
        try:
            made = approvals.decide_approval(
                runtime,
                approval.id,
                approved=choice.approved,
                who=_decider(runtime, link, approval),
                shown_hash=choice.shown_hash,
            )
        except Refused:
            return approval_sentence_page("refused", language, 403)
        except Conflict as error:
            if error.field == HASH:
                return approval_sentence_page("changed", language, 409)
            made = approvals.find_approval(runtime.home.facts, approval.id)
            return _decision_page(runtime, link, made, 409)
        return _decision_page(runtime, link, made, 200)

    return _resolve_link(runtime, token, request, decide)


def _resolve_link(
    runtime: Runtime,
    token: str,
    request: Request,
    then: Callable[[Runtime, SignedLink, Approval], Response],
) -> Response:
    """Find the approval of a link that is signed by this installation and has not expired.

    For any other link the response explains the problem.
    """
    theirs = language_of_http_request(request.headers.get("accept-language", ""))
    try:
        link = read_approval_link(runtime.secrets, token)
        approval = approvals.find_approval(runtime.home.facts, link.approval_id)
    except (Refused, NotFound):
        return approval_sentence_page("forged", theirs, 403)
    except Unavailable:
        return approval_sentence_page("busy", theirs, 503)
    language = _agent(runtime.home.agents, approval)[1]
    if approval.state is ApprovalState.PENDING and runtime.clock.now() >= link.until:
        return approval_sentence_page("over", language, 410)
    return then(runtime, link, approval)


def _approval_page(runtime: Runtime, link: SignedLink, approval: Approval) -> Response:
    name, language = _agent(runtime.home.agents, approval)
    if approval.state is not ApprovalState.PENDING:
        return _decision_page(runtime, link, approval, 410)
    try:
        who = _decider(runtime, link, approval)
        _require_decider(runtime, link, approval)
        card = stored_approval_call_card(runtime, approval, is_owner=who.is_owner)
    except Refused:
        return approval_sentence_page("refused", language, 403)
    except Unavailable:
        return approval_sentence_page("busy", language, 503)
    return approval_link_question_page(approval, name, language, card)


def _decision_page(runtime: Runtime, link: SignedLink, approval: Approval, status: int) -> Response:
    """Return the page of a decision; a link that has ended does not show what the call was."""
    language = _agent(runtime.home.agents, approval)[1]
    is_valid = runtime.clock.now() < link.until
    try:
        _require_decider(runtime, link, approval)
    except Refused:
        is_valid = False
    except Unavailable:
        return approval_sentence_page("busy", language, 503)
    return approval_decision_page(approval, language, status, with_call=is_valid)


def _require_decider(runtime: Runtime, link: SignedLink, approval: Approval) -> None:
    """Raise Refused unless the link's creator still is an owner or a delegate."""
    agent = runtime.home.agents.get(approval.agent_id).agent
    approvals.require_approval_delegate(approval, agent, _decider(runtime, link, approval))


def _decider(runtime: Runtime, link: SignedLink, approval: Approval) -> Decider:
    """Return the decider that a link stands for: a key, or a person on Discord."""
    if not link.key_id.startswith(DISCORD_PRINCIPAL):
        return decider_of_approval_link(runtime.home.keys, link)
    snowflake = link.key_id.removeprefix(DISCORD_PRINCIPAL)
    presence = discord_presence(runtime.home.facts, approval.agent_id)
    person = Person(id=snowflake, name=snowflake)
    is_owner = discord_authority(person, runtime.community, presence) is Authority.OWNER
    return Decider(id=link.key_id, is_owner=is_owner, name=f"link:{link.key_id}")


def _agent(agents: Agents, approval: Approval) -> tuple[str, Language]:
    agent = agents.get(approval.agent_id).agent
    return agent.name, agent.language


def _pressed_button(media_type: str, content: bytes) -> PageDecision | None:
    """Return the pressed button; None for any other form, and for approving what was not shown."""
    if media_type.partition(";")[0].strip().lower() != _FORM or len(content) > _MOST:
        return None
    sent = parse_qs(content.decode("ascii", "replace"))
    chosen, hashes = sent.get(DECISION, []), sent.get(HASH, [])
    if chosen not in ([APPROVE], [REJECT]) or len(hashes) > 1:
        return None
    pressed = PageDecision(approved=chosen == [APPROVE], shown_hash=next(iter(hashes), None))
    return None if pressed.approved and pressed.shown_hash is None else pressed
