"""Turns: list them, read one step by step, ask it to stop, and decide what it waits for."""

from typing import Annotated

from fastapi import Header, Query, Response
from pydantic import Field

from opencrab.domain.access.policy import Verb
from opencrab.domain.approvals.call_text import ShownHash
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Identifier, ShortText, Value
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.insight.turn_list import newest_turns_for_insight
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn import control
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Caller, Owner, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import LIMIT, MOST, Page
from opencrab.gateways.rest.insight.turn_story import StoryView, TurnView
from opencrab.ports.turn.journal import Journal, resolve_record_pointers

router = http_routes_below("/api/turns", "turns")


class Cancel(Value, defer_build=False):
    """A reason for stopping a turn."""

    reason: ShortText = ""


class TurnDecisionBody(Value, defer_build=False):
    """A decision on the call for which a turn waits."""

    approved: bool
    reason: ShortText = ""
    argument_hash: ShownHash | None = Field(
        default=None, description="of the call that you read; 409 if another one waits"
    )


class TurnsQuery(Value, defer_build=False):
    """Which turns a request asks for, and how many."""

    agent_id: Identifier | None = Field(default=None, description="only turns of this agent")
    session_id: Identifier | None = Field(default=None, description="only turns in this session")
    status: TurnStatus | None = Field(default=None, description="only turns with this status")
    limit: Annotated[int, Field(ge=1, le=MOST)] = Field(
        default=LIMIT, description="maximum number of turns"
    )


@router.get("", operation_id="list_turns")
def list_turns_of_sessions(
    api: Api, caller: Reader, query: Annotated[TurnsQuery, Query()]
) -> Page[TurnView]:
    """List turns, newest first.

    Of each agent the 200 newest turns are considered; there are no further pages.
    """
    found = newest_turns_for_insight(
        api.runtime,
        caller.principal,
        agent_id=query.agent_id,
        session_id=query.session_id,
        status=query.status,
        limit=query.limit,
    )
    return Page(items=tuple(map(TurnView.of, found)))


@router.get("/{turn_id}", operation_id="get_turn")
def get_turn_of_session(
    api: Api,
    caller: Reader,
    turn_id: Id,
    accept_language: Annotated[
        str | None, Header(description="the language of the error's message and cure")
    ] = None,
) -> StoryView:
    """Get a turn's state and every step."""
    recorded = api.runtime.home.journal.load(turn_id)
    require_access_to_turn(api.runtime.home, caller.principal, recorded.turn)
    records = resolve_record_pointers(recorded.records, api.runtime.home.blobs)
    language = language_of_http_request(accept_language or "")
    return StoryView.from_records(
        recorded.turn, records, private=caller.is_owner, language=language
    )


@router.post("/{turn_id}/cancel", response_model=TurnView, operation_id="cancel_turn")
def stop_turn_of_session(
    api: Api, caller: Talker, turn_id: Id, once: Repeatable, body: Strict[Cancel] | None = None
) -> Response:
    """Stop a turn before its next call.

    A turn that has ended is returned unchanged.
    """
    wish = body or Cancel()
    return once.answer(
        wish, lambda: _cancel_turn_if_allowed(api.runtime, caller, turn_id, wish.reason)
    )


@router.post("/{turn_id}/decide", response_model=TurnView, operation_id="decide_turn")
def decide_call_of_session_turn(
    api: Api, caller: Owner, turn_id: Id, once: Repeatable, body: Strict[TurnDecisionBody]
) -> Response:
    """Approve or reject the call for which a turn waits.

    If approved, the turn continues with that call.
    """

    def make() -> TurnView:
        turn = control.decide_waiting_turn(
            api.runtime,
            turn_id,
            approved=body.approved,
            by=caller.principal.id,
            reason=body.reason,
            shown_hash=body.argument_hash,
        )
        return TurnView.of(turn)

    def again() -> TurnView:
        try:
            return make()
        except Conflict:
            return _decided_before(
                api.runtime.home.journal, caller, turn_id, approved=body.approved
            )

    return once.answer(body, make, again=again)


def _cancel_turn_if_allowed(
    runtime: Runtime, caller: Caller, turn_id: str, reason: str
) -> TurnView:
    turn = runtime.home.journal.load(turn_id).turn
    require_access_to_turn(runtime.home, caller.principal, turn, Verb.CHANGE)
    by = caller.principal.id
    return TurnView.of(control.stop_turn(runtime, turn_id, by=by, reason=reason))


def _decided_before(journal: Journal, caller: Caller, turn_id: str, *, approved: bool) -> TurnView:
    """Return the turn if this caller made the same decision before; raises Conflict otherwise."""
    recorded = journal.load(turn_id)
    decisions = [item for item in recorded.records if isinstance(item, ApprovalDecision)]
    wanted = (caller.principal.id, approved)
    if not decisions or (decisions[-1].by, decisions[-1].approved) != wanted:
        raise Conflict(
            f"turn {turn_id!r} is not waiting for an approval",
            cure="read the turn again: it may have been decided or stopped already",
        )
    return TurnView.of(recorded.turn)
