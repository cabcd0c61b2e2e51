"""Results of a client's own tools: taken once for each call, and what ends a wait without them."""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress

from opencrab.domain.client_tools import (
    CLIENT_CALLS,
    ClientCalls,
    id_of_client_calls,
)
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.turn.due_item import CLIENT_WAIT_ITEM, DueItem
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime

RESULT_BYTES = 200_000
"""The most bytes of all results that come together, as JSON: a row of the store holds them."""

_TRIES = 3
_NOBODY = "nobody"
_SILENT = "the client brought no results in time"

log = logging.getLogger(__name__)


def find_client_calls(runtime: Runtime, turn: Turn, n: int) -> ClientCalls | None:
    """Return the calls for which a turn's nth record asked its client; None if there are none."""
    stored = _find_document(runtime, turn, n)
    return None if stored is None else stored.read(ClientCalls)


def accept_client_results(
    runtime: Runtime, turn: Turn, n: int, results: Mapping[int, str], *, by: str, field: str
) -> ClientCalls:
    """Take the results of all calls that a turn's nth record asked for, and let the turn go on.

    `results` are by the place of their call. The same results again change nothing. Errors name
    `field`. Raises NotFound (no such calls), Invalid (one is missing), TooLarge, and Conflict if
    the calls have other results, or the turn does not wait any more.
    """
    for _ in range(_TRIES):
        stored = _find_document(runtime, turn, n)
        if stored is None:
            raise NotFound(
                "no call waits for this result", field=field, cure="ask again without it"
            )
        calls = stored.read(ClientCalls)
        said = _in_order(calls, results, field)
        if calls.results is not None:
            _require_same(calls, said, field)
            return calls
        if runtime.home.journal.header(turn.id).status is not TurnStatus.WAITING:
            raise _too_late(field)
        newest = runtime.home.journal.lines(turn.session_id, limit=1, newest_first=True)
        taken = calls.replaced(results=said, until_line=newest[0].sequence if newest else 0)
        decision = _decision(calls, approved=True, by=by)
        try:
            waiting = runtime.home.journal.decide(turn.id, decision, stored.with_body(taken))
        except (Changed, Conflict):
            # The same results at the same time, or the end of the wait: the next look tells.
            continue
        enqueue_turn(runtime.home, waiting, again=f"-client{n}")
        runtime.home.due.remove(f"{CLIENT_WAIT_ITEM}{stored.id}")
        return taken
    raise _too_late(field)


def end_wait_for_client(runtime: Runtime, item: DueItem) -> None:
    """Let a turn end whose client has brought no results in time; nothing if it has."""
    turn_id, _, number = item.id.removeprefix(CLIENT_WAIT_ITEM).rpartition("-")
    with suppress(NotFound):
        turn = runtime.home.journal.header(turn_id)
        calls = find_client_calls(runtime, turn, int(number))
        if calls is None or calls.results is not None:
            return
        decision = _decision(calls, approved=False, by=_NOBODY).replaced(reason=_SILENT)
        # It has ended, was stopped, or its results came just now.
        with suppress(Conflict):
            waiting = runtime.home.journal.decide(turn_id, decision)
            log.info("a client brought no results, its turn ends: turn_id=%s", turn_id)
            enqueue_turn(runtime.home, waiting, again=f"-client{number}")


def _find_document(runtime: Runtime, turn: Turn, n: int) -> Document | None:
    return runtime.home.facts.get(turn.agent_id, CLIENT_CALLS, id_of_client_calls(turn.id, n))


def _decision(calls: ClientCalls, *, approved: bool, by: str) -> ApprovalDecision:
    return ApprovalDecision(
        n=calls.n,
        call_id=calls.call_ids[0],
        argument_hash=calls.argument_hash,
        approved=approved,
        by=by,
    )


def _in_order(calls: ClientCalls, results: Mapping[int, str], field: str) -> tuple[str, ...]:
    places = range(len(calls.call_ids))
    if set(results) != set(places):
        raise Invalid(
            f"{len(results)} results came for {len(calls.call_ids)} calls",
            field=field,
            cure="send one result for each call of the last answer, all in one request",
        )
    size = len(json.dumps([results[place] for place in places], ensure_ascii=False).encode())
    if size > RESULT_BYTES:
        raise TooLarge(
            f"the results have {size} bytes together",
            field=field,
            cure=f"shorten them to {RESULT_BYTES}; the agent still waits for them",
        )
    return tuple(results[place] for place in places)


def _require_same(calls: ClientCalls, said: tuple[str, ...], field: str) -> None:
    if calls.results != said:
        raise Conflict(
            "these calls have other results already",
            field=field,
            cure="a call has one result: send the same again, or ask anew",
        )


def _too_late(field: str) -> Conflict:
    return Conflict(
        "the agent does not wait for these results any more",
        field=field,
        cure="the turn was stopped, or they came too late: ask again without them",
    )
