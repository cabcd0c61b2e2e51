"""The simulated owner: what it asks of its agents, the goals that it gives, and low budgets.

It acts as an owner does, by the product's own functions, and knows nothing that an owner could not
know.
"""

from collections import defaultdict
from datetime import datetime

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.money.budget import agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.peers.policy import PeerPolicy, PeerReach
from opencrab.domain.value import Language, MicroUsd
from opencrab.engine.agents.creation import NewAgent
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.goals.instructions import InstructionGiver
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.money.budgets import budget_limits
from opencrab.engine.peers.policy import set_peer_policy
from opencrab.engine.runtime import Runtime
from opencrab.engine.simulation.seeded_random import simulated_chance
from opencrab.ports.texts import Texts

OWNER = "simulation"
"""The id of the owner of all simulated agents."""

_TEXTS, _TOPICS = Texts(__file__), Texts(__file__, "topic")
_MEETING_EVERY, _MEETS, _CALM_EVERY, _CALM = 2, 1, 4, 2
_ALONE_EVERY, _ALONE = 8, 6
_FIRST_MEETING, _APART = 10, 3
_DAY = 24
_GOALS_PER_HOUR = 0.02
"""Probability of a goal from the owner for an agent within an hour."""

_FIRST_GOAL = 2
_CUT, _CUT_LEFT = 8, 0.85
"""Hour of the day of the simulation in which one budget is cut, and the share of it spent then."""


def simulated_agent_of_owner(new: NewAgent, place: int) -> NewAgent:
    """Return a new agent as its owner wants it.

    Every fourth is asked to hold a meeting daily. Every fourth is asked for one thing, once, and
    has no purpose: what it does later comes from others, from events and from curiosity.
    """
    language = new.language or Language.EN
    told = new.heartbeat.instructions
    if place % _CALM_EVERY == _CALM:
        once = _TEXTS["once"][language]
        return new.replaced(purpose="", heartbeat=new.heartbeat.replaced(instructions=once))
    if place % _MEETING_EVERY == _MEETS:
        hour = (_FIRST_MEETING + place // _MEETING_EVERY * _APART) % _DAY
        meeting = _TEXTS["meeting"][language].format(hour=hour)
        told = f"{told} {meeting}" if told else meeting
    return new.replaced(heartbeat=new.heartbeat.replaced(instructions=told))


class SimulatedOwner:
    """The owner of the agents in one simulation, the same for the same seed.

    `limits` has the day's limits in force for the own turns of each agent, by time, as the owner
    set them.
    """

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime = runtime
        self._seed = seed
        self._asker = InstructionGiver(OWNER, OWNER, Source.REST, Authority.OWNER)
        self._cut: dict[str, datetime] = {}
        self.limits: defaultdict[str, list[tuple[datetime, MicroUsd]]] = defaultdict(list)

    def begin(self, agent_ids: tuple[str, ...]) -> None:
        """Note the limits with which the simulation begins; let every eighth agent be alone."""
        for place, agent_id in enumerate(agent_ids):
            self._note_limit(agent_id)
            if place % _ALONE_EVERY == _ALONE:
                alone = PeerPolicy(reach=PeerReach.NOBODY)
                set_peer_policy(self._runtime.home, agent_id, alone)

    def pass_hour(self, agent_ids: tuple[str, ...], hour: int) -> None:
        """Give goals to some agents, cut a budget, or restore one on the next day."""
        chosen = int(simulated_chance(self._seed, "first goal") * len(agent_ids))
        for place, agent_id in enumerate(agent_ids):
            first = hour == _FIRST_GOAL and place == chosen
            if first or simulated_chance(self._seed, "goal", hour, place) < _GOALS_PER_HOUR:
                self._give_goal(agent_id, hour)
        self._restore_budgets()
        if hour % _DAY == _CUT:
            self._cut_budget(agent_ids)

    def _give_goal(self, agent_id: str, hour: int) -> None:
        number = int(simulated_chance(self._seed, "topic", agent_id, hour) * len(_TOPICS))
        language = self._runtime.home.agents.get(agent_id).agent.language
        name = _TEXTS["goal"][language].format(topic=_TOPICS[str(number)][language])
        key = f"goal-{hour}"
        inject_owner_goal(self._runtime, agent_id, NewGoal(name=name), self._asker, key=key)

    def _cut_budget(self, agent_ids: tuple[str, ...]) -> None:
        """Cut the day's budget of the agent that spent most of it on others' behalf."""
        day = f"{self._runtime.clock.now():%Y-%m-%d}"
        drawn = self._runtime.home.budgets.drawn_micro_usd
        spent = {each: drawn(agent_budget_scope(each), day) for each in agent_ids}
        own = {each: drawn(heartbeat_budget_scope(each), day) for each in agent_ids}
        chosen = max(agent_ids, key=lambda each: spent[each] - 4 * own[each])
        self._set_limit(chosen, max(int(spent[chosen] / _CUT_LEFT), 1))
        self._cut[chosen] = self._runtime.clock.now()

    def _restore_budgets(self) -> None:
        now = self._runtime.clock.now()
        for agent_id, at in list(self._cut.items()):
            if now.date() != at.date():
                self._set_limit(agent_id, None)
                del self._cut[agent_id]

    def _set_limit(self, agent_id: str, micro_usd: MicroUsd | None) -> None:
        profile = self._runtime.home.agents.get(agent_id)
        change_agent(self._runtime, profile, {"day_limit_micro_usd": micro_usd})
        self._note_limit(agent_id)

    def _note_limit(self, agent_id: str) -> None:
        agent = self._runtime.home.agents.get(agent_id).agent
        limits = budget_limits(self._runtime, agent).limits
        share = limits.of_budget(heartbeat_budget_scope(agent_id), agent.day_limit_micro_usd)
        self.limits[agent_id].append((self._runtime.clock.now(), share or 0))
