"""Sweep: once a minute, pick up what a crash left lying: turns, leases, speech, due items."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.turn import Turn, TurnStatus
from opencrab.engine.admission import enqueue, queue_of
from opencrab.engine.approvals import sweep_approvals
from opencrab.engine.runtime import Runtime
from opencrab.engine.tasks import admit_item, strand
from opencrab.engine.work import send_utterance

log = logging.getLogger(__name__)

_BATCH = 100
_PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class Swept:
    """What one sweep found."""

    requeued: int = 0
    freed: int = 0
    resent: int = 0
    admitted: int = 0
    approvals: int = 0


def sweep(runtime: Runtime) -> Swept:
    """One pass; every part may be repeated without harm."""
    requeued, freed = _turns(runtime)
    resent, admitted = _utterances(runtime), admit_due(runtime)
    return Swept(requeued, freed, resent, admitted, sweep_approvals(runtime))


def _turns(runtime: Runtime) -> tuple[int, int]:
    """Queue again what was never sent, and free turns whose worker let its lease lapse."""
    now = runtime.clock.now()
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    requeued = freed = 0
    for turn in runtime.home.journal.overdue(stale, _BATCH):
        if not runtime.home.journal.extend(turn, now + _PATIENCE):
            continue
        if turn.status is TurnStatus.RUNNING and _released(runtime, turn):
            freed += 1
        else:
            enqueue(runtime, turn, again=f"-{turn.epoch}-{int(now.timestamp())}")
            requeued += 1
    return requeued, freed


def _released(runtime: Runtime, turn: Turn) -> bool:
    return turn.receipt is not None and queue_of(runtime, turn).continue_later(turn.receipt, 0)


def _utterances(runtime: Runtime) -> int:
    now = runtime.clock.now()
    stale = now - timedelta(seconds=runtime.rules.stale_seconds)
    unsent = runtime.home.outbox.unsent(stale, _BATCH)
    for utterance in unsent:
        send_utterance(runtime, utterance, again=f"-{int(now.timestamp())}")
    return len(unsent)


def admit_due(runtime: Runtime) -> int:
    """Admit what is due; an item that can never be admitted is dropped with its error.

    The goal of a dropped item waits, and says why.
    """
    admitted = 0
    for item in runtime.home.due.due(runtime.clock.now(), _BATCH):
        try:
            admit_item(runtime, item)
            admitted += 1
        except OpenCrabError as error:
            if isinstance(error, Unavailable):
                continue
            log.warning("due item %s cannot be admitted: %s", item.id, error.message)
            strand(runtime, item, error.message)
        runtime.home.due.done(item.id)
    return admitted
