"""Control: stop a turn, or decide the approval that it waits for, without using its queue."""

from opencrab.domain.approvals.call_text import require_shown_approval
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.record import ApprovalDecision, ApprovalRequest
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home


def stop_turn(runtime: Runtime, turn_id: str, *, by: str, reason: str = "") -> Turn:
    """Ask a turn to stop before its next call; a second request, or a late one, changes nothing.

    Raises NotFound.
    """
    wish = Stop(by=by, reason=reason, at=runtime.clock.now())
    turn = runtime.home.journal.stop(turn_id, wish)
    if turn.status is TurnStatus.QUEUED:
        enqueue_turn(runtime.home, turn, again="-stop")
    return turn


def decide_waiting_turn(
    runtime: Runtime,
    turn_id: str,
    *,
    approved: bool,
    by: str,
    reason: str = "",
    shown_hash: str | None = None,
) -> Turn:
    """Decide as an owner the approval that a turn waits for, and queue the turn again.

    Raises NotFound, and Conflict when the turn does not wait (any more), or not with the call that
    was shown.
    """
    recorded = runtime.home.journal.load(turn_id)
    asked = [record for record in recorded.records if isinstance(record, ApprovalRequest)]
    if not asked or recorded.turn.status is not TurnStatus.WAITING:
        raise Conflict(
            f"turn {turn_id!r} is not waiting for an approval",
            cure="read the turn again: it may have been decided or stopped already",
        )
    if asked[-1].wants_result:
        raise Conflict(
            f"turn {turn_id!r} waits for its client, not for an approval",
            cure="cancel the turn if its client brings no result",
        )
    wanted = approvals.approval_id(recorded.turn, asked[-1].n)
    who = approvals.Decider(id=by, is_owner=True)
    try:
        approvals.decide_approval(
            runtime, wanted, approved=approved, who=who, reason=reason, shown_hash=shown_hash
        )
    except NotFound:
        # The turn asked in an older version, which kept open approvals in the journal only.
        require_shown_approval(wanted, asked[-1].argument_hash, shown_hash)
        return _decide_in_journal(runtime.home, turn_id, asked[-1], approved=approved, by=by)
    return runtime.home.journal.header(turn_id)


def is_turn_waiting_for_result(home: Home, turn: Turn) -> bool:
    """Check whether a turn waits for the result of a call that somebody outside runs.

    No decision of a person helps it on. Raises NotFound.
    """
    if turn.status is not TurnStatus.WAITING or turn.stop is not None:
        return False
    records = home.journal.load(turn.id).records
    asked = [record for record in records if isinstance(record, ApprovalRequest)]
    return bool(asked) and asked[-1].wants_result


def _decide_in_journal(
    home: Home, turn_id: str, asked: ApprovalRequest, *, approved: bool, by: str
) -> Turn:
    """Write the decision into the turn's journal and queue the turn again."""
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
