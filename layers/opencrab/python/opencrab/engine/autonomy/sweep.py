"""The sweep: each minute, recovers turns, leases and deliveries after crashes, starts due items.

Its parts take turns, a batch each, so that a backlog of one kind does not starve the others; what
is left when its time is over, or when the process dies, the next sweep finds again.
"""

import logging
import math
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from opencrab.domain.autonomy.schedule import SCHEDULE
from opencrab.engine.approvals.approvals import sweep_approvals
from opencrab.engine.autonomy.due_items import admit_or_drop_due_item
from opencrab.engine.autonomy.heartbeat import repair_postponed_heartbeats, sweep_heartbeats
from opencrab.engine.autonomy.schedule_documents import SCHEDULES_AT_ONCE
from opencrab.engine.autonomy.schedules import sweep_schedules
from opencrab.engine.queueing import free_lapsed_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import utterance_queue_message

log = logging.getLogger(__name__)

_BATCH = 100
_MOST = 10_000
"""Due items, schedules and unsent words that one sweep passes on to others, of each kind."""

_SWEEPS = timedelta(minutes=1)
"""The time between two sweeps; what becomes due before the next one is queued with a delay."""

_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECONDS = 5.0
"""With less time left a sweep begins no further batch."""

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Applies a function to each of many things, like `map`; perhaps several at a time."""

SecondsLeft = Callable[[], float]


@dataclass
class SweepResult:
    """Counts of what one sweep recovered and started; `queued` others will start."""

    requeued: int = 0
    freed: int = 0
    resent: int = 0
    admitted: int = 0
    approvals: int = 0
    beats: int = 0
    returned: int = 0
    queued: int = 0


def run_autonomy_sweep(
    runtime: Runtime, seconds_left: SecondsLeft = lambda: math.inf, *, each: Each = map
) -> SweepResult:
    """Run one pass of the sweep; every part is safe to repeat, and may be cut off anywhere.

    `each` may carry out waiting for stores and queues side by side; it must return in order. A part
    that fails does not keep the others from theirs; its error is raised when they are done.
    """
    swept, failed = SweepResult(), list[Exception]()
    parts: list[Iterator[None]] = [
        _free_turns(runtime, swept, each),
        _beat(runtime, swept),
        _start_schedules(runtime, swept),
        _admit_due_items(runtime, swept, each),
        _resend_utterances(runtime, swept),
        _decide_approvals(runtime, swept),
        _return_budgets(runtime, swept),
        _watch_leases(runtime),
    ]
    while parts and seconds_left() > _LAST_SECONDS:
        part = parts.pop(0)
        try:
            for _ in islice(part, 1):
                parts.append(part)
        except Exception as error:  # noqa: BLE001 - raised again below
            log.warning(
                "part of the sweep failed, the others go on: error=%s", type(error).__name__
            )
            failed.append(error)
    if failed:
        raise failed[0]
    return swept


def _free_turns(runtime: Runtime, swept: SweepResult, each: Each) -> Generator[None]:
    """Queue again turns that were never sent, and release turns whose lease has expired."""
    now, home = runtime.clock.now(), runtime.home
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    while True:
        found = home.journal.list_overdue(now, _BATCH, queued_before=stale)
        ways = list(each(lambda turn: free_lapsed_turn(home, turn, runtime.clock.now()), found))
        swept.freed += ways.count("freed")
        swept.requeued += ways.count("requeued")
        if len(found) < _BATCH or not any(ways):
            return
        yield


def _watch_leases(runtime: Runtime) -> Generator[None]:
    """See to it that somebody looks when a lease ends before the next sweep comes.

    Most are renewed meanwhile. Whose worker has died is freed then, and not up to a minute later.
    """
    now = runtime.clock.now()
    running = runtime.home.journal.list_overdue(now + _SWEEPS, _MOST, queued_before=_EVER)
    ending = [turn for turn in running if turn.lease_until is not None and turn.lease_until > now]
    if ending:
        from opencrab.engine.autonomy.sweep_queue import (  # noqa: PLC0415 - few turns take so long
            queue_ending_leases,
        )

        for start in range(0, len(ending), _BATCH):
            queue_ending_leases(runtime, ending[start : start + _BATCH])
            yield


def _beat(runtime: Runtime, swept: SweepResult) -> Generator[None]:
    repair_postponed_heartbeats(runtime)
    swept.beats = sweep_heartbeats(runtime).turns
    yield from ()


def _start_schedules(runtime: Runtime, swept: SweepResult) -> Generator[None]:
    found = sweep_schedules(runtime, ahead=_SWEEPS)
    if not found.ahead and len(found.tried) < SCHEDULES_AT_ONCE:
        return
    from opencrab.engine.autonomy.sweep_queue import (  # noqa: PLC0415 - few minutes have any
        queue_due_schedules,
    )

    others = list(found.ahead)
    if len(found.tried) + len(others) >= SCHEDULES_AT_ONCE:
        yield
        due = runtime.home.facts.list_due(SCHEDULE, runtime.clock.now() + _SWEEPS, _MOST)
        others = [fact for fact in due if fact.key not in found.tried]
    for start in range(0, len(others), _BATCH):
        queue_due_schedules(runtime, others[start : start + _BATCH])
        swept.queued += len(others[start : start + _BATCH])
        yield


def _admit_due_items(runtime: Runtime, swept: SweepResult, each: Each) -> Generator[None]:
    now = runtime.clock.now()
    found = runtime.home.due.list_due(now + _SWEEPS, _BATCH)
    due = [item for item in found if item.at <= now]
    swept.admitted += sum(each(partial(admit_or_drop_due_item, runtime), due))
    # An index that is behind lists an item that was put off before those that are due.
    others = [item for item in found if item.at > now]
    if len(found) == _BATCH:
        yield
        tried = {item.id for item in due}
        more = runtime.home.due.list_due(runtime.clock.now() + _SWEEPS, _MOST)
        others = [item for item in more if item.id not in tried]
    if not others:
        return
    from opencrab.engine.autonomy.sweep_queue import queue_due_items  # noqa: PLC0415 - as above

    for start in range(0, len(others), _BATCH):
        queue_due_items(runtime, others[start : start + _BATCH])
        swept.queued += len(others[start : start + _BATCH])
        yield


def _resend_utterances(runtime: Runtime, swept: SweepResult) -> Generator[None]:
    now = runtime.clock.now()
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    unsent = runtime.home.outbox.list_unsent(stale, _BATCH)
    if len(unsent) == _BATCH:
        unsent = runtime.home.outbox.list_unsent(stale, _MOST)
    for start in range(0, len(unsent), _BATCH):
        batch = unsent[start : start + _BATCH]
        runtime.home.deliveries.send_batch(
            utterance_queue_message(each, again=f"-{int(now.timestamp())}") for each in batch
        )
        swept.resent += len(batch)
        yield


def _decide_approvals(runtime: Runtime, swept: SweepResult) -> Generator[None]:
    swept.approvals = sweep_approvals(runtime)
    yield from ()


def _return_budgets(runtime: Runtime, swept: SweepResult) -> Generator[None]:
    swept.returned = runtime.home.budgets.return_unspent(runtime.clock.now())
    yield from ()


def sweep_due_items(runtime: Runtime) -> int:
    """Admit the due items, dropping those that can never be admitted; return how many."""
    items = runtime.home.due.list_due(runtime.clock.now(), _BATCH)
    return sum([admit_or_drop_due_item(runtime, item) for item in items])
