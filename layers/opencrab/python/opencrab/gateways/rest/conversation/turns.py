"""Turns: read one step by step, ask it to stop, and decide what it waits for."""

from fastapi import Response

from opencrab.domain.errors import Conflict, Refused
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.value import ShortText, Value
from opencrab.engine.runtime import Runtime
from opencrab.engine.stored_record import resolve_record_pointers
from opencrab.engine.turn import control
from opencrab.gateways.rest.http.access import Caller, Owner, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.insight.turn_story import StoryView, TurnView
from opencrab.ports.turn.journal import Journal

router = routes_below("/api/turns", "turns")


class Cancel(Value, defer_build=False):
    """Why a turn is to stop."""

    reason: ShortText = ""


class Decision(Value, defer_build=False):
    """Whether a waiting turn may run its call."""

    approved: bool
    reason: ShortText = ""


@router.get("/{turn_id}")
def get_turn(api: Api, caller: Reader, turn_id: Id) -> StoryView:
    """Get a turn's state and every step."""
    recorded = api.runtime.home.journal.load(turn_id)
    records = resolve_record_pointers(recorded.records, api.runtime.home.blobs)
    return StoryView.told(recorded.turn, records, private=caller.is_owner)


@router.post("/{turn_id}/cancel", response_model=TurnView)
def cancel_turn(
    api: Api, caller: Talker, turn_id: Id, once: Repeatable, body: Strict[Cancel] | None = None
) -> Response:
    """Stop a turn before its next call; a turn that has ended is returned unchanged."""
    wish = body or Cancel()
    return once.answer(
        wish, lambda: _cancel_turn_if_allowed(api.runtime, caller, turn_id, wish.reason)
    )


@router.post("/{turn_id}/decide", response_model=TurnView)
def decide_turn(
    api: Api, caller: Owner, turn_id: Id, once: Repeatable, body: Strict[Decision]
) -> Response:
    """Approve or reject the call for which a turn waits; the turn continues with that call."""

    def make() -> TurnView:
        turn = control.decide_waiting_turn(
            api.runtime,
            turn_id,
            approved=body.approved,
            by=caller.principal.id,
            reason=body.reason,
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
    if not caller.is_owner and turn.principal_id != caller.principal.id:
        raise Refused(
            "only the key whose message started a turn, or an owner key, may stop it",
            cure="use that key, or one with scope owner",
        )
    by = caller.principal.id
    return TurnView.of(control.stop_turn(runtime, turn_id, by=by, reason=reason))


def _decided_before(journal: Journal, caller: Caller, turn_id: str, *, approved: bool) -> TurnView:
    """The turn, if this caller's decision reached it before its answer was lost."""
    recorded = journal.load(turn_id)
    decisions = [item for item in recorded.records if isinstance(item, ApprovalDecision)]
    wanted = (caller.principal.id, approved)
    if not decisions or (decisions[-1].by, decisions[-1].approved) != wanted:
        raise Conflict(f"turn {turn_id!r} is not waiting for an approval")
    return TurnView.of(recorded.turn)
