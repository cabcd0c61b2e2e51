"""Beating: each agent's next beat at its second, decided without a model, once however often told.

A beat with a reason is one transaction: the vital signs, what it began, its line in the log and the
message that is due. What follows may be repeated by anybody.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated

from pydantic import Field, ValidationError

from opencrab.domain.autonomy.heartbeat_gate import BEAT
from opencrab.domain.autonomy.vital_signs import (
    VITALS,
    VitalSigns,
    correct_heartbeat_clock_skew,
    heartbeat_slot,
)
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, OpenCrabError, Unavailable
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Identifier, Value
from opencrab.engine.agents.vital_signs import TRIES, change_vital_signs, stored_vital_signs
from opencrab.engine.autonomy.heartbeat_decision import decide_heartbeat
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.pace import MessageOutcome
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import Delivery, Queue

log = logging.getLogger(__name__)

AHEAD = timedelta(seconds=60)
"""Beats within the time until the next sweep are queued until their second."""

_AT_ONCE = 100
"""Overdue beats that one sweep decides itself; the others go through the queue."""

_PAGE = 1_000
_MOST = 16_000
_LOG_PAGE = 100
_ALIVE = 1_000
_EVER = timedelta(days=36_500)
_NO_TURN = {Trigger.COMPACTION, Trigger.EMBEDDING}


class HeartbeatResult(StrEnum):
    """What became of a beat: a turn, nothing to do, or it was none any more."""

    TURN = "turn"
    IDLE = "idle"
    DROPPED = "dropped"


@dataclass
class HeartbeatSweepResult:
    """What one sweep did about heartbeats."""

    turns: int = 0
    idle: int = 0
    dropped: int = 0
    queued: int = 0


class _Told(Value):
    """The body of a message of the beats queue."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    agent: Identifier
    slot: Annotated[int, Field(ge=0, strict=True)]


def sweep_heartbeats(runtime: Runtime) -> HeartbeatSweepResult:
    """Decide the beats that are due, and queue those of the coming minute until their second.

    What is overdue is one beat, however many were missed. An agent whose beat cannot be decided
    does not keep the others waiting.
    """
    beaten, seen, limit = HeartbeatSweepResult(), set[str](), _PAGE
    occupied = cache(lambda: _busy_agent_ids(runtime))
    while True:
        found = runtime.home.facts.due(VITALS, runtime.clock.now() + AHEAD, limit)
        for fact in found:
            if fact.owner not in seen:
                seen.add(fact.owner)
                _sweep_due_heartbeats(runtime, fact, beaten, occupied)
        if len(found) < limit or limit >= _MOST:
            return beaten
        limit *= 2


def repair_postponed_heartbeats(runtime: Runtime) -> int:
    """Bring back beats that a clock which was ahead once has put off; answers how many.

    Called with each sweep, it looks once an hour: nobody else would find a beat that is too far
    away, unless something happens to its agent.
    """
    now = runtime.clock.now()
    if now.minute:
        return 0
    found = 0
    for fact in runtime.home.facts.due(VITALS, now + _EVER, _MOST):
        with _passing_over(fact.owner):
            signs = fact.read(VitalSigns)
            if correct_heartbeat_clock_skew(signs, now) != signs:
                change_vital_signs(
                    runtime, fact.owner, lambda stored: correct_heartbeat_clock_skew(stored, now)
                )
                found += 1
    return found


@contextmanager
def _passing_over(agent_id: str) -> Iterator[None]:
    """Let an agent whose beat cannot be decided keep no other waiting."""
    try:
        yield
    except (OpenCrabError, ValidationError) as error:
        log.warning("heartbeat deferred: agent=%s, error=%s", agent_id, error)


def deliver_heartbeat(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Decide the beat that a message names, unless it was decided or is none any more.

    One that comes before its second is given back until then; a message that names none ends among
    the dead letters. Raises Unavailable when a store is.
    """
    try:
        told = _Told.model_validate_json(delivery.body)
    except ValidationError:
        reason = "malformed heartbeat message"
        runtime.home.beats.dead_letter(delivery.body, group=delivery.group, reason=reason)
        return MessageOutcome.FINISHED
    early = told.slot - runtime.clock.now().timestamp()
    if 0 < early <= AHEAD.total_seconds():
        runtime.home.beats.continue_later(delivery.receipt, math.ceil(early))
        return MessageOutcome.CONTINUE
    if early > 0:
        log.info(
            "heartbeat dropped, slot is in the future: agent=%s, slot=%s", told.agent, told.slot
        )
    else:
        run_heartbeat(runtime, told.agent, told.slot)
    return MessageOutcome.FINISHED


def run_heartbeat(
    runtime: Runtime,
    agent_id: str,
    slot: int,
    *,
    found: Document | None = None,
    occupied: Callable[[], frozenset[str]] | None = None,
) -> HeartbeatResult:
    """Decide one beat of an agent, if this slot is its next one; else it is dropped.

    `found` are its signs as an index had them: stale ones are read again. `occupied` are agents
    with a turn alive. Raises Unavailable when the signs are changed by others all the time.
    """
    alive = occupied or cache(lambda: _busy_agent_ids(runtime))
    for _ in range(TRIES):
        stored = found or stored_vital_signs(runtime.home.facts, agent_id)
        found = None
        signs = None if stored is None else stored.read(VitalSigns)
        if stored is None or signs is None or not signs.beats_at_all:
            log.info(
                "heartbeat dropped, agent has no heartbeats: agent=%s, slot=%s", agent_id, slot
            )
            return HeartbeatResult.DROPPED
        if heartbeat_slot(signs.next_beat_at) != slot:
            log.info(
                "heartbeat dropped, slot was already handled: agent=%s, slot=%s", agent_id, slot
            )
            return HeartbeatResult.DROPPED
        try:
            begun = decide_heartbeat(runtime, stored, signs, alive)
        except Changed:
            continue
        return HeartbeatResult.TURN if begun else HeartbeatResult.IDLE
    raise Unavailable(
        f"concurrent updates to the vital signs of agent {agent_id!r}; retries exhausted"
    )


def heartbeat_log(
    facts: Documents, agent_id: str, *, after: str = "", limit: int = _LOG_PAGE
) -> tuple[Document, ...]:
    """The log of an agent's beats with a reason, newest first, as facts of Beat."""
    return facts.page(agent_id, BEAT, after=after, limit=limit, newest_first=True)


def _sweep_due_heartbeats(
    runtime: Runtime,
    fact: Document,
    beaten: HeartbeatSweepResult,
    occupied: Callable[[], frozenset[str]],
) -> None:
    """Decide or queue one agent's beats of this minute."""
    now = runtime.clock.now()
    with _passing_over(fact.owner):
        signs = fact.read(VitalSigns)
        if signs.next_beat_at <= now and beaten.turns + beaten.idle < _AT_ONCE:
            slot = heartbeat_slot(signs.next_beat_at)
            became = run_heartbeat(runtime, fact.owner, slot, found=fact, occupied=occupied)
            beaten.turns += became is HeartbeatResult.TURN
            beaten.idle += became is HeartbeatResult.IDLE
            beaten.dropped += became is HeartbeatResult.DROPPED
            signs = signs.after_beat(now)
        beaten.queued += _queue(runtime.home.beats, signs, now)


def _queue(beats: Queue, signs: VitalSigns, now: datetime) -> int:
    """Queue all beats until the next sweep: the shortest interval has several of them."""
    moment, queued = signs.next_beat_at, 0
    while moment <= now + AHEAD:
        told = _Told(agent=signs.agent_id, slot=heartbeat_slot(moment))
        beats.send(
            told.model_dump_json(),
            group=signs.agent_id,
            deduplication=f"{signs.agent_id}#{told.slot}",
            delay_seconds=max(math.ceil((moment - now).total_seconds()), 0),
        )
        queued += 1
        moment = max(moment, now) + timedelta(seconds=signs.heartbeat.interval_seconds)
    return queued


def _busy_agent_ids(runtime: Runtime) -> frozenset[str]:
    """Agents with a queued or running turn, as far as these are among the oldest ones."""
    rules = runtime.rules
    horizon = timedelta(seconds=max(rules.lease_seconds, rules.visibility_seconds))
    alive = runtime.home.journal.overdue(runtime.clock.now() + horizon, _ALIVE)
    return frozenset(turn.agent_id for turn in alive if turn.trigger not in _NO_TURN)
