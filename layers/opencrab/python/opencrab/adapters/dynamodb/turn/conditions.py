"""What a turn's state allows, and the errors where it does not."""

from collections.abc import Sequence

from opencrab.domain.errors import Conflict, NotFound, Unavailable
from opencrab.domain.turn.record import ApprovalDecision, ApprovalRequest, Record
from opencrab.domain.turn.turn import Turn, TurnStatus


def requeue_waiting_turn(turn: Turn) -> Turn:
    """Return the turn as queued if it waits, else unchanged."""
    return turn.replaced(status=TurnStatus.QUEUED) if turn.status is TurnStatus.WAITING else turn


def asks_for_turn_decision(recorded: Sequence[Record], decision: ApprovalDecision) -> bool:
    """Check whether the turn's last approval request is the one that was decided."""
    asked = [one for one in recorded if isinstance(one, ApprovalRequest)]
    wanted = (decision.n, decision.call_id, decision.argument_hash)
    return bool(asked) and (asked[-1].n, asked[-1].call_id, asked[-1].argument_hash) == wanted


def require_all_turn_records(turn: Turn, recorded: Sequence[Record]) -> None:
    """Raise NotFound if records of a waiting turn have expired."""
    if len({one.n for one in recorded}) < turn.sequence - 1:
        raise NotFound(
            f"records of turn {turn.id!r} have expired while it waited",
            cure="send the message again",
        )


def session_ended_error(session_id: str) -> Conflict:
    """Return the error for a message to a session that has ended."""
    return Conflict(f"session {session_id!r} has ended", cure="create a new session")


def busy_turn_error(turn_id: str) -> Unavailable:
    """Return the error for a turn that others kept changing."""
    return Unavailable(
        f"turn {turn_id!r} has too many concurrent updates; retries exhausted",
        cure="try again in a few seconds",
    )
