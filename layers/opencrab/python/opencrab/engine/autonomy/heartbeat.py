"""Heartbeats: each is decided at its time, without a model, once however often it is delivered.

A heartbeat with a reason is one transaction: the vital signs, what it started, its log entry and
the message that is due. Everything after that transaction is safe to repeat.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache

from pydantic import ValidationError

from opencrab.domain.autonomy.heartbeat_gate import BEAT
from opencrab.domain.autonomy.heartbeat_outcome import BEAT_RESULT, HeartbeatOutcome
from opencrab.domain.autonomy.vital_signs import (
    NO_HEARTBEAT,
    VITALS,
    VitalSigns,
    bring_heartbeat_forward,
    heartbeat_slot,
    is_heartbeat_too_late,
)
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, OpenCrabError, Unavailable, UnreadableValue
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.agents.heartbeat_queue import HeartbeatMessage, heartbeat_queue_message
from opencrab.engine.agents.vital_signs import (
    TRIES,
    agent_vital_signs_document,
    change_agent_vital_signs,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import BatchedMessage, Delivery, MessageOutcome

log = logging.getLogger(__name__)

AHEAD = timedelta(seconds=60)
"""The time until the next sweep; heartbeats within it are queued with a delay."""

_AT_ONCE = 100
"""Overdue heartbeats that one sweep decides itself; the others go through the queue."""

_MOST_EARLY = 2
"""How often a message of the sweep may come early; the next sweep sends another.

What is due each minute may have begun with the sweep each time, and the message never ended.
"""

_PART = '"part":'
_PAGE = 1_000
_MOST = 100_000
_LOG_PAGE = 100
_ALIVE = 1_000
_NO_TURN = {Trigger.COMPACTION, Trigger.EMBEDDING}


class HeartbeatResult(StrEnum):
    """The result of a heartbeat: a turn, idle, or dropped because it was not the next one."""

    TURN = "turn"
    IDLE = "idle"
    DROPPED = "dropped"


@dataclass
class HeartbeatSweepResult:
    """Counts of one sweep's heartbeats, by result."""

    turns: int = 0
    idle: int = 0
    dropped: int = 0
    queued: int = 0


def sweep_heartbeats(runtime: Runtime) -> HeartbeatSweepResult:
    """Decide the heartbeats that are due, and queue those of the coming minute with a delay.

    Missed heartbeats of an agent count as one. An agent whose heartbeat fails does not block the
    others.
    """
    beaten = HeartbeatSweepResult()
    occupied = cache(lambda: _busy_agent_ids(runtime))
    found = runtime.home.facts.list_due(VITALS, runtime.clock.now() + AHEAD, _PAGE)
    messages = list[BatchedMessage]()
    for fact in found:
        messages += _sweep_due_heartbeats(runtime, fact, beaten, occupied)
    if len(found) == _PAGE:
        from opencrab.engine.autonomy.sweep_queue import (  # noqa: PLC0415 - with many agents only
            queue_heartbeat_parts,
        )

        queue_heartbeat_parts(runtime)
    else:
        runtime.home.beats.send_batch(messages)
        beaten.queued = len(messages)
    return beaten


def queue_coming_heartbeats(runtime: Runtime, part: int) -> int:
    """Queue the heartbeats that are due until the next sweep, of one part of the agents.

    Returns how many. One that is queued twice is decided once.
    """
    found = runtime.home.facts.list_due(VITALS, runtime.clock.now() + AHEAD, _MOST, part=part)
    queued = 0
    for start in range(0, len(found), _AT_ONCE):
        now, messages = runtime.clock.now(), list[BatchedMessage]()
        for fact in found[start : start + _AT_ONCE]:
            with _passing_over(fact.owner):
                messages.extend(_messages(fact.read(VitalSigns), now))
        runtime.home.beats.send_batch(messages)
        queued += len(messages)
    return queued


def repair_postponed_heartbeats(runtime: Runtime) -> int:
    """Correct heartbeats that a clock running ahead had set too late; return how many.

    Called with each sweep, it checks once an hour: a heartbeat too far in the future would
    otherwise stay until something happens to its agent.
    """
    now = runtime.clock.now()
    if now.minute:
        return 0
    # Until an hour from now ordinary heartbeats are due, and without any cause none is.
    longest = timedelta(seconds=runtime.rules.autonomy.review_seconds)
    found = 0
    for fact in runtime.home.facts.list_due(VITALS, NO_HEARTBEAT, _MOST):
        with _passing_over(fact.owner):
            signs = fact.read(VitalSigns)
            if is_heartbeat_too_late(signs, now, longest):
                change_agent_vital_signs(
                    runtime, fact.owner, lambda stored: bring_heartbeat_forward(stored, now)
                )
                found += 1
    return found


@contextmanager
def _passing_over(agent_id: str) -> Iterator[None]:
    """Log an error of one agent's heartbeat, so that it does not block other agents."""
    try:
        yield
    except (OpenCrabError, ValidationError) as error:
        log.warning("heartbeat failed, retrying: agent=%s, error=%s", agent_id, error)


def decide_queued_heartbeat(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Decide the heartbeat that a queue message names, unless it was decided or dropped.

    A message that comes too early is delayed until its time; a malformed one goes to the
    dead-letter queue. One that names a due item or a schedule starts that, once it is due. Raises
    Unavailable when a store is unavailable.
    """
    try:
        # Older releases must take a part for a heartbeat, see queue_heartbeat_parts.
        told = None if _PART in delivery.body else HeartbeatMessage.from_stored(delivery.body)
    except UnreadableValue:
        told = None
    if told is None:
        early = _start_queued_work(runtime, delivery)
        if early is not None and delivery.count > _MOST_EARLY:
            return MessageOutcome.FINISHED
        if early is not None:
            return _later_if_soon(runtime, delivery, early)
        reason = "malformed heartbeat message"
        runtime.home.beats.dead_letter(delivery.body, group=delivery.group, reason=reason)
        return MessageOutcome.FINISHED
    early = told.slot - runtime.clock.now().timestamp()
    if 0 < early <= AHEAD.total_seconds():
        return _later_if_soon(runtime, delivery, early)
    if early > 0:
        log.info(
            "heartbeat dropped, slot is in the future: agent=%s, slot=%s", told.agent, told.slot
        )
    else:
        run_heartbeat(runtime, told.agent, told.slot)
    return MessageOutcome.FINISHED


def _later_if_soon(runtime: Runtime, delivery: Delivery, early: float) -> MessageOutcome:
    """Delay a message by so many seconds; one that is longer than the next sweep off ends."""
    if 0 < early <= AHEAD.total_seconds():
        runtime.home.beats.continue_later(delivery.receipt, math.ceil(early))
        return MessageOutcome.CONTINUE
    return MessageOutcome.FINISHED


def _start_queued_work(runtime: Runtime, delivery: Delivery) -> float | None:
    """Start what a message of the sweep names; how early it is, None if it names nothing."""
    from opencrab.engine.autonomy.sweep_queue import (  # noqa: PLC0415 - it needs the engine's half
        SweepMessage,
        start_queued_work,
    )

    try:
        told = SweepMessage.model_validate_json(delivery.body)
    except ValidationError:
        return None
    if told.part is not None:
        queue_coming_heartbeats(runtime, told.part)
        return 0.0
    if not (told.due or told.schedule or told.turn):
        return None
    return start_queued_work(runtime, told)


def run_heartbeat(
    runtime: Runtime,
    agent_id: str,
    slot: int,
    *,
    found: Document | None = None,
    occupied: Callable[[], frozenset[str]] | None = None,
) -> HeartbeatResult:
    """Decide one heartbeat of an agent if `slot` is its next one; else drop it.

    `found` are its vital signs as read from an index; they are read again if stale. `occupied`
    returns the agents that have an open turn. Raises Unavailable when concurrent updates exhaust
    the retries.
    """
    alive = occupied or cache(lambda: _busy_agent_ids(runtime))
    for _ in range(TRIES):
        stored = found or agent_vital_signs_document(runtime.home.facts, agent_id)
        found = None
        signs = None if stored is None else stored.read(VitalSigns)
        if stored is None or signs is None or not signs.has_next_heartbeat:
            log.info(
                "heartbeat dropped, agent has no heartbeats: agent=%s, slot=%s", agent_id, slot
            )
            return HeartbeatResult.DROPPED
        if heartbeat_slot(signs.next_beat_at) != slot:
            log.info(
                "heartbeat dropped, slot is not the agent's next one: agent=%s, slot=%s, next=%s",
                agent_id,
                slot,
                heartbeat_slot(signs.next_beat_at),
            )
            return HeartbeatResult.DROPPED
        from opencrab.engine.autonomy.heartbeat_decision import (  # noqa: PLC0415 - few have reasons
            decide_heartbeat,
        )

        try:
            begun = decide_heartbeat(runtime, stored, signs, alive)
        except Changed:
            continue
        return HeartbeatResult.TURN if begun else HeartbeatResult.IDLE
    raise Unavailable(
        f"concurrent updates to the vital signs of agent {agent_id!r}; retries exhausted",
        cure="try again",
    )


def heartbeat_log(
    facts: Documents, agent_id: str, *, after: str = "", limit: int = _LOG_PAGE
) -> tuple[Document, ...]:
    """Return a page of an agent's heartbeats that had a reason, newest first, as documents."""
    return facts.page(agent_id, BEAT, after=after, limit=limit, newest_first=True)


def heartbeat_outcomes(
    facts: Documents, agent_id: str, turn_ids: Iterable[str]
) -> dict[str, HeartbeatOutcome]:
    """Return what came of heartbeats by the turns that they began, for those that have ended."""
    names = [(BEAT_RESULT, each) for each in turn_ids]
    found = facts.get_many(agent_id, *names) if names else ()
    return {fact.id: fact.read(HeartbeatOutcome) for fact in found}


def _sweep_due_heartbeats(
    runtime: Runtime,
    fact: Document,
    beaten: HeartbeatSweepResult,
    occupied: Callable[[], frozenset[str]],
) -> list[BatchedMessage]:
    """Decide an overdue heartbeat of an agent, and return messages for those of this minute."""
    now, messages = runtime.clock.now(), list[BatchedMessage]()
    with _passing_over(fact.owner):
        signs = fact.read(VitalSigns)
        if signs.next_beat_at <= now and beaten.turns + beaten.idle < _AT_ONCE:
            slot = heartbeat_slot(signs.next_beat_at)
            became = run_heartbeat(runtime, fact.owner, slot, found=fact, occupied=occupied)
            beaten.turns += became is HeartbeatResult.TURN
            beaten.idle += became is HeartbeatResult.IDLE
            beaten.dropped += became is HeartbeatResult.DROPPED
            signs = signs.after_beat(now)
        messages.extend(_messages(signs, now))
    return messages


def _messages(signs: VitalSigns, now: datetime) -> Iterator[BatchedMessage]:
    """Yield messages for all heartbeats until the next sweep; a short interval has several."""
    moment = signs.next_beat_at
    while moment <= now + AHEAD:
        yield heartbeat_queue_message(signs.agent_id, moment, now)
        moment = max(moment, now) + timedelta(seconds=signs.heartbeat.interval_seconds)


def _busy_agent_ids(runtime: Runtime) -> frozenset[str]:
    """Return the agents with a queued or running turn, among the _ALIVE oldest open turns."""
    rules = runtime.rules
    horizon = timedelta(seconds=max(rules.lease_seconds, rules.visibility_seconds))
    alive = runtime.home.journal.list_overdue(runtime.clock.now() + horizon, _ALIVE)
    return frozenset(turn.agent_id for turn in alive if turn.trigger not in _NO_TURN)
