"""What a sweep finds due beyond what it starts itself: a message each in the queue of heartbeats.

Also turns whose lease ends before the next sweep; their message comes when it has ended. So as many
functions as the queue allows start all this side by side. Starting something twice starts it once,
so that a message that comes again, or a second sweep, does no harm.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from opencrab.ports.turn.journal import has_turn_lapsed
from opencrab.ports.turn.queue import LONGEST_DELAY_SECONDS, BatchedMessage


class SweepMessage(Value):
    """The body of a message that names a due item, a turn, or a schedule and its agent."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    due: str = ""
    turn: str = ""
    agent: Identifier | None = None
    schedule: Identifier | None = None


def queue_due_items(runtime: Runtime, items: Iterable[DueItem]) -> None:
    """Queue due items, so that others admit them."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(
        _message(item.id, SweepMessage(due=item.id), now) for item in items
    )


def queue_due_schedules(runtime: Runtime, facts: Iterable[Document]) -> None:
    """Queue due schedules, so that others start them."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(_schedule_messages(facts, now))


def queue_ending_leases(runtime: Runtime, turns: Iterable[Turn]) -> None:
    """Queue running turns, so that others free those whose worker is dead when the lease ends."""
    now = runtime.clock.now()
    runtime.home.beats.send_batch(
        replace(_message(turn.id, SweepMessage(turn=turn.id), now), delay_seconds=delay)
        for turn in turns
        if turn.lease_until is not None
        # One may have ended since it was found, in a sweep with much to do.
        and (delay := max(math.ceil((turn.lease_until - now).total_seconds()), 0))
        <= LONGEST_DELAY_SECONDS
    )


def start_queued_work(runtime: Runtime, message: SweepMessage) -> None:
    """Start what a message names, unless it was started before."""
    if message.turn:
        _free_turn_of_dead_worker(runtime, message.turn)
    elif message.due:
        item = runtime.home.due.get(message.due)
        if item is not None and item.at <= runtime.clock.now():
            admit_or_drop_due_item(runtime, item)
    elif message.agent is not None and message.schedule is not None:
        fact = runtime.home.facts.get(message.agent, SCHEDULE, message.schedule)
        if fact is not None and fact.due_at is not None and fact.due_at <= runtime.clock.now():
            start_due_schedule(runtime, fact)


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
        yield _message(fact.id, SweepMessage(agent=fact.owner, schedule=fact.id), now)


def _message(name: str, told: SweepMessage, now: datetime) -> BatchedMessage:
    # A queue that deduplicates takes it again with the next sweep, if it was lost.
    minute = int(now.timestamp()) // 60
    body = told.model_dump_json(exclude_defaults=True)
    return BatchedMessage(body, group=name, deduplication=f"sweep-{name}-{minute}")
