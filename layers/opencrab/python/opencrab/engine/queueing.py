"""Queueing of turns for workers, each into the queue that suits its trigger."""

import json

from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Queue


def enqueue_turn(home: Home, turn: Turn, *, again: str = "") -> None:
    """Queue a turn unless it has ended; `again` makes it a new queue message."""
    if turn.status.is_end:
        return
    body = json.dumps({"v": 1, "turn": turn.id}, separators=(",", ":"))
    deduplication = f"{turn.id}{again}"
    group = turn.session_id or turn.id
    queue_for_turn(home, turn).send(body, group=group, deduplication=deduplication)


def queue_for_turn(home: Home, turn: Turn) -> Queue:
    """Return a turn's queue: summaries and embeddings have their own, so as not to delay others."""
    compacts = turn.trigger in {Trigger.COMPACTION, Trigger.EMBEDDING}
    return home.compactions if compacts else home.turns
