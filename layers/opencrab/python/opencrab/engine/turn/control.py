"""Control: stop a turn, decide what it waits for; neither waits in a queue behind it."""

from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.record import ApprovalDecision, ApprovalRequest
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home


def stop_turn(runtime: Runtime, turn_id: str, *, by: str, reason: str = "") -> Turn:
    """Ask a turn to stop before its next call; asking twice, or too late, changes nothing.

    Raises NotFound.
    """
    wish = Stop(by=by, reason=reason, at=runtime.clock.now())
    turn = runtime.home.journal.stop(turn_id, wish)
    if turn.status is TurnStatus.QUEUED:
        enqueue_turn(runtime.home, turn, again="-stop")
    return turn


def decide_waiting_turn(
    runtime: Runtime, turn_id: str, *, approved: bool, by: str, reason: str = ""
) -> Turn:
    """Decide as an owner what a waiting turn waits for, once, and let the turn go on.

    Raises NotFound, and Conflict when the turn does not wait (any more).
    """
    recorded = runtime.home.journal.load(turn_id)
    asked = [record for record in recorded.records if isinstance(record, ApprovalRequest)]
    if not asked or recorded.turn.status is not TurnStatus.WAITING:
        raise Conflict(f"turn {turn_id!r} is not waiting for an approval")
    wanted = approvals.approval_id(recorded.turn, asked[-1].n)
    who = approvals.Decider(id=by, is_owner=True)
    try:
        approvals.decide_approval(runtime, wanted, approved=approved, who=who, reason=reason)
    except NotFound:
        # It asked before open approvals were kept apart from the journal.
        return _decide_in_journal(runtime.home, turn_id, asked[-1], approved=approved, by=by)
    return runtime.home.journal.header(turn_id)


def _decide_in_journal(
    home: Home, turn_id: str, asked: ApprovalRequest, *, approved: bool, by: str
) -> Turn:
    decision = ApprovalDecision(
        n=asked.n,
        call_id=asked.call_id,
        argument_hash=asked.argument_hash,
        approved=approved,
        by=by,
    )
    turn = home.journal.decide(turn_id, decision)
    enqueue_turn(home, turn, again=f"-decision{asked.n}")
    return turn
