"""Simulation of agents over some hours on a manual clock, and its results.

Sweep, heartbeats, turns, goals and budgets are the product's own code. Only the clock, the model
and the events around the agents are simulated.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import GOAL, Goal, goal_id_of_label
from opencrab.domain.turn.turn import UNASKED, Trigger
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd, Value
from opencrab.engine.agents.vital_signs import queue_event_for_agent, stored_agent_vital_signs
from opencrab.engine.autonomy.heartbeat import deliver_heartbeat
from opencrab.engine.autonomy.sweep import admit_due_items, run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.pace import MessageOutcome, Pace
from opencrab.engine.turn.run import run_turn
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages, paginate
from opencrab.ports.turn.journal import Journal
from opencrab.ports.turn.queue import Delivery, Queue
from opencrab.ports.usage.ledger import UsageLedger

MOST_AGENTS, MOST_HOURS = 1_000, 24 * 31

_MINUTE = timedelta(minutes=1)
_PAGE = 100
_CHANCES = 1_000_000
_PER_HOUR = 0.15
"""Probability of an event for an agent within an hour."""

_KINDS = ("world.bounty", "world.review", "world.broken_dependency", "speech")
_OPPORTUNITIES = 3


class SimulatedClock(Protocol):
    """A clock that only moves when `advance` is called."""

    def now(self) -> datetime:
        """Return the simulated time."""

    def advance(self, seconds: float) -> None:
        """Move the clock forward by some seconds."""


class SimulatedLife(Value):
    """Totals of one agent; `idle_share` is the share of heartbeats without a reason to act."""

    beats: int = 0
    idle_beats: int = 0
    idle_share: float = 0.0
    turns: int = 0
    model_calls: int = 0
    model_calls_without_reason: int = 0
    spend_micro_usd: MicroUsd = 0
    events: int = 0
    goals: dict[str, int] = Field(default_factory=dict)
    status: str = "active"


class SimulationResult(Value):
    """Totals of all agents, and of each."""

    agents: int
    hours: float
    seed: int
    beats: int
    idle_share: float
    turns: int
    model_calls: int
    model_calls_without_reason: int
    spend_micro_usd: MicroUsd
    goals_by_source: dict[str, int]
    by_agent: dict[str, SimulatedLife]


class SimulatedTurn(Value):
    """A turn that called a model: its start, its trigger, and the goal or task it served."""

    id: str
    at: datetime
    trigger: Trigger
    task: str | None = None


class SimulatedWorld:
    """Random events for the agents, the same for the same seed.

    `told` has the times of each agent's events, as recorded here and not by the agent.
    """

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime = runtime
        self._seed = seed
        self.told: defaultdict[str, list[datetime]] = defaultdict(list)

    def pass_hour(self, agent_ids: tuple[str, ...], hour: int) -> None:
        """Queue an event for a random share of the agents."""
        for place, agent_id in enumerate(agent_ids):
            chance = _chance(self._seed, hour, place)
            if chance >= _PER_HOUR:
                continue
            kind = _KINDS[int(chance * _CHANCES) % len(_KINDS)]
            event = AgentEvent(
                id=f"{hour:06d}-{place:04d}",
                type=kind,
                source="world",
                text=f"{kind} of hour {hour}",
                authority=Authority.PUBLIC,
                opportunity=kind in _KINDS[:_OPPORTUNITIES],
                at=self._runtime.clock.now(),
            )
            if queue_event_for_agent(self._runtime, agent_id, event):
                self.told[agent_id].append(event.at)


def simulate_day(
    runtime: Runtime,
    clock: SimulatedClock,
    names: dict[str, str],
    *,
    hours: float,
    seed: int,
    tell: Callable[[int], None] = lambda _hour: None,
) -> SimulationResult:
    """Run the agents for some hours; `names` maps their ids to names. Returns the totals.

    `tell` is called with the number of every hour that has passed.
    """
    agent_ids, world = tuple(names), SimulatedWorld(runtime, seed)
    end, hour = clock.now() + timedelta(hours=hours), 0
    while clock.now() < end:
        if clock.now() >= end - timedelta(hours=hours) + timedelta(hours=hour + 1):
            hour += 1
            tell(hour)
            world.pass_hour(agent_ids, hour)
        run_autonomy_sweep(runtime)
        _work(runtime)
        _pass_minute(runtime, clock)
    _work(runtime)
    if int(hours) > hour:
        tell(int(hours))
    by_agent = {
        name: _agent_summary(runtime.home, id_, world.told[id_]) for id_, name in names.items()
    }
    return _together(by_agent, hours, seed)


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
        (home.beats, lambda each: deliver_heartbeat(runtime, each)),
        (home.turns, lambda each: run_turn(runtime, each, Pace())),
        (home.deliveries, lambda each: deliver_session_utterance(runtime, each)),
        (home.compactions, lambda each: run_background_turn(runtime, each, Pace())),
    )
    while any(_drain_queue(runtime.rules, queue, handle) for queue, handle in handled):
        admit_due_items(runtime)


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


def simulated_turns_without_reason(
    turns: Iterable[SimulatedTurn], told: Iterable[datetime], goals: Mapping[str, Goal]
) -> set[str]:
    """Return the ids of turns that no event or goal explains.

    A turn for a goal needs that goal to be open at the time. A turn that no message started needs
    an event of the agent that no earlier such turn consumed; it consumes all earlier events, or
    else those at the very same time. The simulation has no schedules.
    """
    found, unseen = set[str](), sorted(told)
    for turn in sorted(turns, key=lambda each: each.at):
        if turn.task is not None:
            if not _was_open(goals.get(goal_id_of_label(turn.task)), turn.at):
                found.add(turn.id)
        elif turn.trigger in UNASKED:
            until = [at for at in unseen if at < turn.at] or [at for at in unseen if at == turn.at]
            if not until:
                found.add(turn.id)
            unseen = unseen[len(until) :]
    return found


def _was_open(goal: Goal | None, at: datetime) -> bool:
    if goal is None or at < goal.created_at:
        return False
    return goal.ended_at is None or at <= goal.ended_at


def _agent_summary(home: Home, agent_id: str, told: list[datetime]) -> SimulatedLife:
    stored = stored_agent_vital_signs(home.facts, agent_id)
    if stored is None:
        return SimulatedLife()
    signs, rows = stored.read(VitalSigns), _rows(home.usage, agent_id)
    goals = _goals(home.facts, agent_id)
    turns = {row.turn_id: row for row in rows}
    unreasoned = simulated_turns_without_reason(
        [_woken(home.journal, row) for row in turns.values()],
        told,
        {goal.id: goal for goal in goals},
    )
    sources = Counter(goal.source.value for goal in goals)
    return SimulatedLife(
        beats=signs.beats,
        idle_beats=signs.idle,
        idle_share=_share(signs.idle, signs.beats),
        turns=len(turns),
        model_calls=len(rows),
        model_calls_without_reason=sum(row.turn_id in unreasoned for row in rows),
        spend_micro_usd=sum(row.cost for row in rows),
        events=len(told),
        goals=dict(sorted(sources.items())),
        status=home.agents.get(agent_id).agent.status.value,
    )


def _rows(usage: UsageLedger, agent_id: str) -> list[UsageRow]:
    return list(paginate(usage.rows, agent_id, limit=_PAGE))


def _woken(journal: Journal, row: UsageRow) -> SimulatedTurn:
    """Return the turn of a ledger row; if its header has expired, only what the row says."""
    try:
        turn = journal.header(row.turn_id)
    except NotFound:
        return SimulatedTurn(id=row.turn_id, at=row.at, trigger=row.trigger)
    return SimulatedTurn(id=turn.id, at=turn.created_at, trigger=turn.trigger, task=turn.task)


def _goals(facts: Documents, agent_id: str) -> list[Goal]:
    return [fact.read(Goal) for fact in all_pages(facts, agent_id, GOAL)]


def _together(by_agent: dict[str, SimulatedLife], hours: float, seed: int) -> SimulationResult:
    lives = tuple(by_agent.values())
    sources = sum((Counter(life.goals) for life in lives), Counter[str]())
    return SimulationResult(
        agents=len(lives),
        hours=hours,
        seed=seed,
        beats=sum(life.beats for life in lives),
        idle_share=_share(sum(life.idle_beats for life in lives), sum(x.beats for x in lives)),
        turns=sum(life.turns for life in lives),
        model_calls=sum(life.model_calls for life in lives),
        model_calls_without_reason=sum(life.model_calls_without_reason for life in lives),
        spend_micro_usd=sum(life.spend_micro_usd for life in lives),
        goals_by_source=dict(sorted(sources.items())),
        by_agent=by_agent,
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _chance(seed: int, *places: int) -> float:
    """Return a pseudo-random number from 0 to 1, the same for the same arguments."""
    text = ".".join(map(str, (seed, *places)))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
