"""Control: stop a turn, decide what it waits for; neither waits in a queue behind it."""

from opencrab.domain.errors import Conflict
from opencrab.domain.record import ApprovalDecision, ApprovalRequest
from opencrab.domain.turn import Stop, Turn, TurnStatus
from opencrab.engine.admission import enqueue
from opencrab.engine.runtime import Runtime


def stop(runtime: Runtime, turn_id: str, *, by: str, reason: str = "") -> Turn:
    """Ask a turn to stop before its next call; asking twice, or too late, changes nothing.

    Raises NotFound.
    """
    wish = Stop(by=by, reason=reason, at=runtime.clock.now())
    turn = runtime.home.journal.stop(turn_id, wish)
    if turn.status is TurnStatus.QUEUED:
        enqueue(runtime, turn, again="-stop")
    return turn


def decide(runtime: Runtime, turn_id: str, *, approved: bool, by: str, reason: str = "") -> Turn:
    """Decide what a waiting turn waits for, once, and let the turn go on.

    Raises NotFound, and Conflict when the turn does not wait (any more).
    """
    recorded = runtime.home.journal.load(turn_id)
    asked = [record for record in recorded.records if isinstance(record, ApprovalRequest)]
    if not asked or recorded.turn.status is not TurnStatus.WAITING:
        raise Conflict(f"turn {turn_id!r} does not wait for an approval")
    request = asked[-1]
    decision = ApprovalDecision(
        n=request.n,
        call_id=request.call_id,
        argument_hash=request.argument_hash,
        approved=approved,
        by=by,
        reason=reason,
    )
    turn = runtime.home.journal.decide(turn_id, decision)
    enqueue(runtime, turn, again=f"-decision{request.n}")
    return turn
