"""The world around simulated agents: random events, the same for the same seed."""

from collections import defaultdict
from datetime import datetime

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.engine.agents.vital_signs import store_event_for_agent
from opencrab.engine.runtime import Runtime
from opencrab.engine.simulation.seeded_random import simulated_chance
from opencrab.ports.paging import all_pages

_CHANCES = 1_000_000
_PER_HOUR = 0.05
"""Probability of an event for an agent within an hour."""

_KINDS = ("world.bounty", "world.review", "world.broken_dependency", "speech")
_OPPORTUNITIES = 3


class SimulatedWorld:
    """Random events for the agents.

    `told` has the times of each agent's events: those from here, and those that the product itself
    sent, as the answer of a peer or the end of a discussion.
    """

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime = runtime
        self._seed = seed
        self._noted = set[tuple[str, str]]()
        self.told: defaultdict[str, list[datetime]] = defaultdict(list)

    def pass_hour(self, agent_ids: tuple[str, ...], hour: int) -> None:
        """Queue an event for a random share of the agents."""
        for place, agent_id in enumerate(agent_ids):
            chance = simulated_chance(self._seed, hour, place)
            if chance >= _PER_HOUR:
                continue
            kind = _KINDS[int(chance * _CHANCES) % len(_KINDS)]
            event = AgentEvent(
                id=self._runtime.clock.new_id(),
                type=kind,
                source="world",
                text=f"{kind} of hour {hour}",
                authority=Authority.PUBLIC,
                opportunity=kind in _KINDS[:_OPPORTUNITIES],
                at=self._runtime.clock.now(),
            )
            store_event_for_agent(self._runtime, agent_id, event)
        self.note_events(agent_ids)

    def note_events(self, agent_ids: tuple[str, ...]) -> None:
        """Note the events that were stored since the last time; they are kept for some days."""
        for agent_id in agent_ids:
            for fact in all_pages(self._runtime.home.facts, agent_id, HAPPENING):
                if (agent_id, fact.id) not in self._noted:
                    self.told[agent_id].append(fact.read(AgentEvent).at)
                    self._noted.add((agent_id, fact.id))
