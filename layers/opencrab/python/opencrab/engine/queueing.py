"""Queueing of turns, each into the queue that suits its trigger, and pauses of deliveries."""

from datetime import datetime, timedelta
from math import ceil

from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import queue_message_of_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

BACKOFF_SECONDS = 2
BACKOFF_LIMIT = timedelta(minutes=5)

_LOOKED_FOR = timedelta(minutes=3)
"""Some sweeps: one of them may fail."""

_PATIENCE = timedelta(minutes=10)
"""How long nobody looks again after a turn that was freed, and waits in its queue."""


def enqueue_turn(home: Home, turn: Turn, *, again: str = "") -> None:
    """Queue a turn unless it has ended; `again` makes it a new queue message."""
    if turn.status.is_end:
        return
    message = queue_message_of_turn(turn, again=again)
    queue_for_turn(home, turn).send(
        message.body, group=message.group, deduplication=message.deduplication
    )


def queue_for_turn(home: Home, turn: Turn) -> Queue:
    """Return the queue of a turn's messages."""
    return home.compactions if queue_message_of_turn(turn).queue == "compactions" else home.turns


def free_lapsed_turn(home: Home, turn: Turn, now: datetime) -> str:
    """Let others run a turn whose lease has ended: "freed", "requeued", or "" if it goes on.

    Its message returns to its queue; if that is gone, or never came there, it is queued again. A
    queued one has such a message if its worker died as it began to wait for what has come since.
    """
    if not home.journal.extend(turn, now + _PATIENCE):
        return ""
    if _redeliver_turn(home, turn):
        return "freed"
    enqueue_turn(home, turn, again=f"-{turn.epoch}-{int(now.timestamp())}")
    return "requeued"


def free_session_of_waiting_turn(home: Home, turn: Turn, now: datetime) -> None:
    """Let the session of a waiting turn go on, if its worker died before its message was done.

    The message, with which nothing is to be done, would hold up those behind it for as long as it
    is invisible. It is looked for in the minutes after the lease's end, when no worker has it.
    """
    waits, until = turn.status is TurnStatus.WAITING, turn.lease_until
    if waits and until is not None and until <= now < until + _LOOKED_FOR:
        _redeliver_turn(home, turn)


def _redeliver_turn(home: Home, turn: Turn) -> bool:
    return turn.receipt is not None and queue_for_turn(home, turn).continue_later(turn.receipt, 0)


def deliver_later(
    deliveries: Queue, delivery: Delivery, attempts: int, *, at_least: float = 0
) -> MessageOutcome:
    """Give a message back to the queue, for twice as long after each attempt.

    `at_least` are the seconds that the receiver asked for.
    """
    seconds = BACKOFF_SECONDS * 2**attempts
    most = int(BACKOFF_LIMIT.total_seconds())
    deliveries.continue_later(delivery.receipt, max(min(seconds, most), ceil(at_least)))
    return MessageOutcome.CONTINUE
