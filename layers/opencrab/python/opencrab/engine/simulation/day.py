"""Simulation of agents over some hours on a manual clock, and its results.

Sweep, heartbeats, turns, goals and budgets are the product's own code. Only the clock, the model,
the owner, and the events around the agents are simulated.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Protocol

from opencrab.domain.autonomy.vital_signs import VITALS
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep, sweep_due_items
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.simulation.account import simulation_account
from opencrab.engine.simulation.owner import SimulatedOwner
from opencrab.engine.simulation.result import SimulationResult
from opencrab.engine.simulation.world import SimulatedWorld
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

MOST_AGENTS, MOST_HOURS = 1_000, 24 * 31

_MINUTE = timedelta(minutes=1)


class SimulatedClock(Protocol):
    """A clock that only moves when `advance` is called."""

    def now(self) -> datetime:
        """Return the simulated time."""

    def advance(self, seconds: float) -> None:
        """Move the clock forward by some seconds."""


def simulate_day(
    runtime: Runtime,
    clock: SimulatedClock,
    names: dict[str, str],
    *,
    hours: float,
    seed: int,
    breakers: Collection[str] = (),
    tell: Callable[[int], None] = lambda _hour: None,
) -> SimulationResult:
    """Run the agents for some hours; `names` maps their ids to names. Returns the totals.

    `breakers` are the names of those that break most of their promises, for the account alone.
    `tell` is called with the number of every hour that has passed.
    """
    agent_ids, world = tuple(names), SimulatedWorld(runtime, seed)
    owner = SimulatedOwner(runtime, seed)
    owner.begin(agent_ids)
    end, hour = clock.now() + timedelta(hours=hours), 0
    while clock.now() < end:
        if clock.now() >= end - timedelta(hours=hours) + timedelta(hours=hour + 1):
            hour += 1
            tell(hour)
            world.pass_hour(agent_ids, hour)
            owner.pass_hour(agent_ids, hour)
        run_autonomy_sweep(runtime)
        _work(runtime)
        _pass_minute(runtime, clock)
    _work(runtime)
    if int(hours) > hour:
        tell(int(hours))
    world.note_events(agent_ids)
    return simulation_account(runtime, world, owner, names, breakers, hours=hours, seed=seed)


def _pass_minute(runtime: Runtime, clock: SimulatedClock) -> None:
    """Advance the clock by a minute, stopping at each heartbeat that is due."""
    until = clock.now() + _MINUTE
    for moment in _beats_until(runtime.home.facts, until):
        if moment > clock.now():
            clock.advance((moment - clock.now()).total_seconds())
        _work(runtime)
    clock.advance(max((until - clock.now()).total_seconds(), 0.0))


def _beats_until(facts: Documents, until: datetime) -> list[datetime]:
    due = facts.list_due(VITALS, until, MOST_AGENTS)
    return sorted({fact.due_at for fact in due if fact.due_at is not None})


def _work(runtime: Runtime) -> None:
    """Handle all queued messages until nothing is left."""
    home = runtime.home
    handled: tuple[tuple[Queue, Callable[[Delivery], MessageOutcome]], ...] = (
        (home.beats, lambda each: decide_queued_heartbeat(runtime, each)),
        (home.turns, lambda each: run_turn(runtime, each, Pace())),
        (home.deliveries, lambda each: deliver_session_utterance(runtime, each)),
        (home.compactions, lambda each: run_background_turn(runtime, each, Pace())),
    )
    while any(_drain_queue(runtime.rules, queue, handle) for queue, handle in handled):
        sweep_due_items(runtime)


def _drain_queue(rules: Rules, queue: Queue, handle: Callable[[Delivery], MessageOutcome]) -> bool:
    any_done = False
    while True:
        seconds = rules.visibility_seconds
        delivery = queue.receive(visibility_seconds=seconds, wait_seconds=0)
        if delivery is None:
            return any_done
        any_done = True
        if handle(delivery) is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
