"""The sweep: each minute, recovers turns, leases and deliveries after crashes, starts due items."""

from dataclasses import dataclass
from datetime import timedelta

from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.approvals.approvals import sweep_approvals
from opencrab.engine.autonomy.due_items import admit_or_drop_due_item
from opencrab.engine.autonomy.heartbeat import repair_postponed_heartbeats, sweep_heartbeats
from opencrab.engine.autonomy.schedules import sweep_schedules
from opencrab.engine.queueing import enqueue_turn, queue_for_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import queue_turn_utterance
from opencrab.ports.home import Home

_BATCH = 100
_PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class SweepResult:
    """Counts of what one sweep recovered and started."""

    requeued: int = 0
    freed: int = 0
    resent: int = 0
    admitted: int = 0
    approvals: int = 0
    beats: int = 0


def run_autonomy_sweep(runtime: Runtime) -> SweepResult:
    """Run one pass of the sweep; every part is safe to repeat."""
    requeued, freed = _turns(runtime)
    sweep_schedules(runtime)
    resent, admitted = _utterances(runtime), sweep_due_items(runtime)
    decided = sweep_approvals(runtime)
    repair_postponed_heartbeats(runtime)
    return SweepResult(requeued, freed, resent, admitted, decided, sweep_heartbeats(runtime).turns)


def _turns(runtime: Runtime) -> tuple[int, int]:
    """Queue again turns that were never sent, and release turns whose lease has expired."""
    now = runtime.clock.now()
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    requeued = freed = 0
    for turn in runtime.home.journal.list_overdue(stale, _BATCH):
        if not runtime.home.journal.extend(turn, now + _PATIENCE):
            continue
        if turn.status is TurnStatus.RUNNING and _redeliver_turn(runtime.home, turn):
            freed += 1
        else:
            enqueue_turn(runtime.home, turn, again=f"-{turn.epoch}-{int(now.timestamp())}")
            requeued += 1
    return requeued, freed


def _redeliver_turn(home: Home, turn: Turn) -> bool:
    return turn.receipt is not None and queue_for_turn(home, turn).continue_later(turn.receipt, 0)


def _utterances(runtime: Runtime) -> int:
    now = runtime.clock.now()
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    unsent = runtime.home.outbox.list_unsent(stale, _BATCH)
    for utterance in unsent:
        queue_turn_utterance(runtime.home.deliveries, utterance, again=f"-{int(now.timestamp())}")
    return len(unsent)


def sweep_due_items(runtime: Runtime) -> int:
    """Admit the due items, dropping those that can never be admitted; return how many."""
    items = runtime.home.due.list_due(runtime.clock.now(), _BATCH)
    return sum([admit_or_drop_due_item(runtime, item) for item in items])
