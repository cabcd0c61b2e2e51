"""Agents that beat in a house, and the minutes that they live through."""

from datetime import timedelta
from math import ceil
from typing import Any

from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.heartbeat_gate import LoggedHeartbeat
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.turn.turn import Turn
from opencrab.engine.agents import vital_signs
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat, heartbeat_log
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.outside import Reply, Script
from tests.e2e.house import House

QUIET: Script = (Reply(),)


def living(house: House, name: str, script: Script = QUIET, **heartbeat: Any) -> str:
    """An agent who thinks with a script, and whose first beat is one interval away."""
    agent = house.agent(name, script)
    changed = agent.replaced(heartbeat=Heartbeat(**heartbeat))
    house.home.agents.save(changed)
    vital_signs.create_agent_vital_signs(house.runtime, house.home.agents.get(name))
    return name


def signs(house: House, name: str) -> VitalSigns:
    """An agent's vital signs as they are stored."""
    stored = vital_signs.agent_vital_signs_document(house.runtime.home.facts, name)
    assert stored is not None
    return stored.read(VitalSigns)


def note(house: House, name: str, **changes: Any) -> None:
    """Let an agent's vital signs be others."""
    vital_signs.change_agent_vital_signs(house.runtime, name, lambda now: now.replaced(**changes))


def tell(house: House, name: str, number: int = 1, **changes: Any) -> bool:
    """Let something happen that an agent may look at."""
    event = AgentEvent(
        id=f"{number:06d}", type="world.bounty", source="world", text="雨", at=house.clock.now()
    )
    return vital_signs.store_event_for_agent(house.runtime, name, event.replaced(**changes))


def drain(house: House, *, twice: bool = False) -> int:
    """Handle all beats that are visible now, as often as a queue may deliver each of them."""
    handled, queue = 0, house.runtime.home.beats
    while (delivery := queue.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        outcomes = [decide_queued_heartbeat(house.runtime, delivery) for _ in range(1 + twice)]
        if outcomes[0] is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        handled += 1
    return handled


def minutes(house: House, count: int, *, twice: bool = False, step: int = 1) -> None:
    """Let minutes pass with their sweeps, beats and turns."""
    for _ in range(count):
        for _ in range(1 + twice):
            run_autonomy_sweep(house.runtime)
        house.work()
        left = 60 // step * step
        while left:
            seconds = _until_next_beat(house, step, left)
            house.clock.advance(seconds)
            left -= seconds
            if drain(house, twice=twice):
                house.work()


def _until_next_beat(house: House, step: int, left: int) -> int:
    """Whole steps, in seconds, in which no beat comes; a queue that cannot say is asked at each."""
    look = getattr(house.runtime.home.beats, "next_visible_at", None)
    if look is None:
        return step
    visible_at: int | None = look()
    if visible_at is None:
        return left
    seconds = (visible_at - sqlite_milliseconds(house.clock.now())) / 1_000
    return min(max(ceil(seconds / step), 1) * step, left)


def log(house: House, name: str) -> list[LoggedHeartbeat]:
    """The beats with a reason, the newest first."""

    def read(fact: Document) -> LoggedHeartbeat:
        return fact.read(LoggedHeartbeat)

    return [read(fact) for fact in heartbeat_log(house.runtime.home.facts, name)]


def turns(house: House, name: str) -> list[Turn]:
    """The turns that an agent's beats began, the newest first."""
    return [house.turn(beat.turn_id) for beat in log(house, name)]


SECOND = timedelta(seconds=1)
