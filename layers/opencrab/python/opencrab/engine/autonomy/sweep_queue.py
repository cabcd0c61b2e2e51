"""What a sweep finds due beyond what it starts itself: a message each in the queue of heartbeats.

What becomes due before the next sweep has a message that comes at its second, as have turns whose
lease ends before. So as many functions as the queue allows start all this side by side. The message
only names something, which is read again: what was changed or cancelled meanwhile does not start.
Starting something twice starts it once, so that a message that comes again, or a second sweep, does
no harm.
"""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated

from pydantic import Field

from opencrab.domain.autonomy.schedule import SCHEDULE
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Identifier, Value
from opencrab.engine.autonomy.due_items import admit_or_drop_due_item
from opencrab.engine.autonomy.schedules import start_due_schedule
from opencrab.engine.queueing import free_lapsed_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import DUE_PARTS
from opencrab.ports.turn.journal import has_turn_lapsed
from opencrab.ports.turn.queue import LONGEST_DELAY_SECONDS, BatchedMessage

_NO_AGENT = "sweep"


class SweepMessage(Value):
    """The body of a message that names a due item, a turn, a part, or a schedule and its agent."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    slot: Annotated[int, Field(ge=0, le=0, strict=True)] | None = None
    due: str = ""
    part: Annotated[int, Field(ge=0, strict=True)] | None = None
    turn: str = ""
    agent: Identifier | None = None
    schedule: Identifier | None = None


def queue_due_items(runtime: Runtime, items: Iterable[DueItem]) -> None:
    """Queue items that are due or will be soon, so that others admit them at their time."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(
        _message(item.id, SweepMessage(due=item.id), now, item.at) for item in items
    )


def queue_due_schedules(runtime: Runtime, facts: Iterable[Document]) -> None:
    """Queue schedules that are due or will be soon, so that others start them at their time."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(_schedule_messages(facts, now))


def queue_ending_leases(runtime: Runtime, turns: Iterable[Turn]) -> None:
    """Queue running turns, so that others free those whose worker is dead when the lease ends."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(
        _message(turn.id, SweepMessage(turn=turn.id), now, turn.lease_until)
        for turn in turns
        if turn.lease_until is not None
        # One may have ended since it was found, in a sweep with much to do.
        and _seconds_until(turn.lease_until, now) <= LONGEST_DELAY_SECONDS
    )


def queue_heartbeat_parts(runtime: Runtime) -> None:
    """Queue each part of the agents, so that others queue the heartbeats of the coming minute.

    A release that does not know parts, as during a deployment or after a step back, reads in such a
    message a heartbeat of 1970, which it drops; its own sweep queues the heartbeats then.
    """
    now = runtime.clock.now()
    runtime.home.beats.send_batch(
        _message(f"part-{part}", SweepMessage(part=part, agent=_NO_AGENT, slot=0), now, now)
        for part in range(DUE_PARTS)
    )


def start_queued_work(runtime: Runtime, message: SweepMessage) -> float:
    """Start what a message names, unless it was started before.

    Returns for how many seconds it is not due yet; 0 if it was started, or is not there any more.
    """
    if message.turn:
        _free_turn_of_dead_worker(runtime, message.turn)
    elif message.due:
        item = runtime.home.due.get(message.due)
        if item is not None:
            if early := _seconds_until(item.at, runtime.clock.now()):
                return early
            admit_or_drop_due_item(runtime, item)
    elif message.agent is not None and message.schedule is not None:
        fact = runtime.home.facts.get(message.agent, SCHEDULE, message.schedule)
        if fact is not None and fact.due_at is not None:
            if early := _seconds_until(fact.due_at, runtime.clock.now()):
                return early
            start_due_schedule(runtime, fact)
    return 0.0


def _free_turn_of_dead_worker(runtime: Runtime, turn_id: str) -> None:
    """Free a turn, unless its worker has renewed the lease or it has ended."""
    now = runtime.clock.now()
    try:
        turn = runtime.home.journal.header(turn_id)
    except NotFound:
        return  # forgotten meanwhile
    if turn.status is TurnStatus.RUNNING and has_turn_lapsed(turn, now):
        free_lapsed_turn(runtime.home, turn, now)


def _schedule_messages(facts: Iterable[Document], now: datetime) -> Iterator[BatchedMessage]:
    for fact in facts:
        told = SweepMessage(agent=fact.owner, schedule=fact.id)
        yield _message(fact.id, told, now, fact.due_at or now)


def _message(name: str, told: SweepMessage, now: datetime, at: datetime) -> BatchedMessage:
    # A queue that deduplicates takes it again with the next sweep, if it was lost.
    return BatchedMessage(
        told.model_dump_json(exclude_defaults=True),
        group=name,
        deduplication=f"sweep-{name}-{int(now.timestamp()) // 60}",
        delay_seconds=math.ceil(_seconds_until(at, now)),
    )


def _seconds_until(at: datetime, now: datetime) -> float:
    return max((at - now).total_seconds(), 0.0)
