"""World runtime: Kingdom's interface to its agents, in its own words (Kingdom 4).

Its errors are ours: not found 404, dormant or dead 409, budget 429, too much memory or a full
horizon 422. A turn whose answers cannot be read ends idle by itself.
"""

from dataclasses import dataclass

from opencrab.domain.agents.agent import Agent, AgentStatus, Profile
from opencrab.domain.autonomy.heartbeat_gate import Beat
from opencrab.domain.autonomy.vital_signs import VitalSigns, slot_of
from opencrab.domain.document import Fact
from opencrab.domain.errors import Changed, Conflict, Exhausted, NotFound, Unavailable
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus, goal_key
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.world.binding import World, told_status
from opencrab.engine.agents.creation import NewAgent, create_agent
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.agents.vital_signs import bring_to_life, stir, stored_signs
from opencrab.engine.autonomy.heartbeat import Decided, beat, beats
from opencrab.engine.goals.instructions import Asker
from opencrab.engine.goals.owner_goals import NewGoal, inject
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import NewBinding, bind, place, post_of
from opencrab.engine.world_outbox import place_fact

_TRIES = 5


@dataclass(frozen=True)
class Loaded:
    """All that there is of one agent as it is loaded: itself, its place and its vital signs."""

    profile: Profile
    world: World
    signs: VitalSigns | None


def spawn(
    runtime: Runtime,
    new: NewAgent,
    binding: NewBinding,
    *,
    initial_fund: int,
    parent: str | None = None,
    owner: str | None = None,
    agent_id: str | None = None,
) -> World:
    """Create an agent in a world; what it is named there is its place's `key_id`.

    `parent` is the key id of who spawned it. With an id the same again answers the one that is
    there. Raises what `create_agent` and `bind` raise.
    """
    if initial_fund < 0:
        raise Exhausted("an agent cannot be spawned with less than nothing", field="initial_fund")
    spawned = agent_id or runtime.clock.new_id()
    if place_fact(runtime.home.facts, spawned) is None:
        create_agent(runtime, new, owner=owner, agent_id=spawned)
    told = binding.replaced(balance=initial_fund, parent=parent or binding.parent)
    return bind(runtime, spawned, told)


def tick(runtime: Runtime, agent_id: str) -> str | None:
    """Let an agent beat now; the id of the turn that this began, or None for a NOP.

    The turn runs by itself, and each message that it sends costs a unit. Raises NotFound, Conflict
    (dormant or dead) and Exhausted (no units).
    """
    _awake(runtime, agent_id)
    if not place(runtime, agent_id).units:
        raise Exhausted(
            f"agent {agent_id!r} has no budget units left",
            field="units",
            cure="wait for the next cycle's allocation",
        )
    now = runtime.clock.now().replace(microsecond=0)
    signs = stir(runtime, agent_id, lambda signs: signs.replaced(next_beat_at=now))
    if signs is None or not signs.beats_at_all:
        return None
    if beat(runtime, agent_id, slot_of(now)) is not Decided.TURN:
        return None
    newest = beats(runtime, agent_id, limit=1)
    return newest[0].read(Beat).turn_id if newest else None


def run_cycle(runtime: Runtime, agent_id: str, tick_budget: int) -> None:
    """Give an agent the units of a cycle and let it begin; its heartbeat goes on with them.

    Raises NotFound, Conflict (dormant or dead) and Exhausted (no units given).
    """
    _awake(runtime, agent_id)
    for _ in range(_TRIES):
        stored = _place_fact(runtime, agent_id)
        given = stored.read(World).replaced(units=max(tick_budget, 0))
        try:
            runtime.home.facts.commit(stored.holding(given))
        except Changed:
            continue
        tick(runtime, agent_id)
        return
    raise Unavailable(f"the place of agent {agent_id!r} in its world is changed all the time")


def status(runtime: Runtime, agent_id: str) -> AgentStatus:
    """Whether an agent is awake, asleep or gone; raises NotFound."""
    return runtime.home.agents.get(agent_id).agent.status


def set_status(runtime: Runtime, agent_id: str, new: AgentStatus) -> None:
    """Wake an agent, put it to sleep or let it go for good, and report that to its world.

    The report costs no unit. Raises NotFound, Conflict (dead, or changed by others), Refused where
    there is no way to worlds, Unavailable.
    """
    profile = runtime.home.agents.get(agent_id)
    if profile.agent.status is not new:
        profile = change_agent(runtime, profile, {"status": new})
        bring_to_life(runtime, profile)
    agent, world = profile.agent, place(runtime, agent_id)
    post_of(runtime).send(
        agent_id,
        "AGENT_STATUS",
        {"agent_id": world.key_id, "status": told_status(new)},
        nonce=_report_nonce(agent),
        at=agent.updated_at,
        charge=0,
    )


def inject_goal(runtime: Runtime, agent_id: str, asked: NewGoal, asker: Asker, *, key: str) -> Goal:
    """Give an agent a goal, which it takes up when it wants it most; once by its key.

    Raises NotFound, Conflict (dead) and Invalid (full horizon, impossible deadline).
    """
    return inject(runtime, agent_id, asked, asker, key=key)


def goals(runtime: Runtime, agent_id: str) -> tuple[Goal, ...]:
    """An agent's goals that have not ended, oldest first; raises NotFound."""
    agenda = runtime.home.agents.get(agent_id).mind.agenda
    found = (runtime.home.facts.get(agent_id, GOAL, goal_key(label)) for label in agenda.open)
    return tuple(fact.read(Goal) for fact in found if fact is not None)


def active_plan(runtime: Runtime, agent_id: str) -> Goal | None:
    """The goal that is being carried out, if it has a plan; raises NotFound."""
    going = (goal for goal in goals(runtime, agent_id) if goal.status is GoalStatus.ACTIVE)
    return next((goal for goal in going if goal.tasks), None)


def peer_model(runtime: Runtime, agent_id: str, peer_id: str) -> Peer | None:
    """What an agent makes of another one; None while they have not met. Raises NotFound."""
    runtime.home.agents.get(agent_id)
    stored = runtime.home.facts.get(agent_id, PEER, peer_id)
    return None if stored is None else stored.read(Peer)


def flush_memory(runtime: Runtime, agent_id: str) -> None:
    """Nothing is left to write: each turn writes its memory with its results. Raises NotFound."""
    runtime.home.agents.get(agent_id)


def load(runtime: Runtime, agent_id: str) -> Loaded:
    """All that there is of one agent; raises NotFound."""
    profile = runtime.home.agents.get(agent_id)
    stored = stored_signs(runtime, agent_id)
    signs = None if stored is None else stored.read(VitalSigns)
    return Loaded(profile, _place_fact(runtime, agent_id).read(World), signs)


def nop_count(runtime: Runtime, agent_id: str) -> int:
    """How many turns in a row brought nothing usable; raises NotFound."""
    runtime.home.agents.get(agent_id)
    stored = stored_signs(runtime, agent_id)
    return 0 if stored is None else stored.read(VitalSigns).in_vain


def _awake(runtime: Runtime, agent_id: str) -> None:
    state = status(runtime, agent_id)
    if state is AgentStatus.DORMANT:
        raise Conflict(f"agent {agent_id!r} is dormant", cure="wake it with set_status")
    if state is AgentStatus.RETIRED:
        raise Conflict(f"agent {agent_id!r} is dead")


def _place_fact(runtime: Runtime, agent_id: str) -> Fact:
    stored = place_fact(runtime.home.facts, agent_id)
    if stored is None:
        raise NotFound(f"agent {agent_id!r} is bound to no world")
    return stored


def _report_nonce(agent: Agent) -> str:
    """One for each version of the agent, so that the same report again is the same message."""
    return stable_id("status", agent.id, str(agent.version)).encode().hex()[:32]
