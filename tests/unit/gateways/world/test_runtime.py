"""Kingdom's interface to agents: its words, over what agents here are and do, with its errors."""

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.soul import Drives
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, Exhausted, Invalid, NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.value_estimate import ASPIRATIONS, Horizon
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.world.binding import World, WorldRole
from opencrab.engine.agents.creation import NewAgent, SoulDraft
from opencrab.engine.goals.instructions import Asker
from opencrab.engine.goals.owner_goals import NewGoal
from opencrab.engine.world.binding import received
from opencrab.gateways.world import runtime
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld

pytest_plugins = ["tests.unit.engine.kingdom"]

DRIVES = Drives(risk_tolerance=0.9, collaboration=0.4, depth_vs_breadth=0.7, quality_vs_speed=0.7)
PARENT = "ee" * 32


@pytest.fixture
def crab(house: House, kingdom: ReferenceWorld) -> World:
    house.scripts["crab"] = (Reply(text="…"),)
    new = NewAgent(name="crab", model="fake:crab", soul=SoulDraft(drives=DRIVES))
    binding = kingdom.binding(WorldRole.EXPLORER)
    made = [
        runtime.spawn(house.runtime, new, binding, initial_fund=100, parent=PARENT, agent_id="crab")
        for _ in range(2)
    ]
    assert made[0] == made[1]
    return kingdom.admit(made[0])


def test_a_spawned_agent_has_its_genome_its_fund_and_its_parent(house: House, crab: World) -> None:
    assert (crab.genome.role, crab.genome.drives, crab.genome.parent) == (
        WorldRole.EXPLORER,
        DRIVES,
        PARENT,
    )
    loaded = runtime.load(house.runtime, "crab")
    assert (loaded.world.balance, loaded.profile.agent.world) == (100, "kingdom")
    assert loaded.signs is not None
    with pytest.raises(Exhausted):
        runtime.spawn(
            house.runtime,
            NewAgent(name="x"),
            ReferenceWorld(house.clock).binding(),
            initial_fund=-1,
        )


def test_a_tick_begins_a_turn_for_a_reason_and_is_a_nop_without_one(
    house: House, kingdom: ReferenceWorld, crab: World
) -> None:
    with pytest.raises(Exhausted):
        runtime.tick(house.runtime, "crab")
    received(house.runtime, kingdom.allocation(crab, 3))
    assert runtime.tick(house.runtime, "crab") is None
    house.clock.advance(5)
    received(house.runtime, kingdom.say(crab.key_id, "EVENT", {"kind": "bounty"}))
    turn = runtime.tick(house.runtime, "crab")
    assert turn is not None
    assert house.turn(turn).trigger is Trigger.HEARTBEAT
    house.work()
    house.clock.advance(5)
    runtime.run_cycle(house.runtime, "crab", 7)
    assert runtime.load(house.runtime, "crab").world.units == 7
    with pytest.raises(Exhausted):
        runtime.run_cycle(house.runtime, "crab", 0)


def test_a_status_is_set_here_and_reported_there_once(
    house: House, kingdom: ReferenceWorld, crab: World
) -> None:
    for _ in range(2):
        runtime.set_status(house.runtime, "crab", AgentStatus.DORMANT)
    assert runtime.status(house.runtime, "crab") is AgentStatus.DORMANT
    report = {"agent_id": bytes.fromhex(crab.key_id), "status": "DORMANT"}
    assert kingdom.heard == [("AGENT_STATUS", report)]
    received(house.runtime, kingdom.allocation(crab, 3))
    with pytest.raises(Conflict, match="dormant"):
        runtime.tick(house.runtime, "crab")
    runtime.set_status(house.runtime, "crab", AgentStatus.RETIRED)
    with pytest.raises(Conflict, match="dead"):
        runtime.run_cycle(house.runtime, "crab", 1)
    with pytest.raises(Conflict):
        runtime.set_status(house.runtime, "crab", AgentStatus.ACTIVE)


def test_a_goal_is_injected_once_until_the_horizon_is_full(house: House, crab: World) -> None:
    asker = Asker("kingdom", "Kingdom", Source.WORLD, Authority.OWNER)

    def inject(key: str) -> Goal:
        asked = NewGoal(name="ハッシュマップを実装", horizon=Horizon.ASPIRATION)
        return runtime.inject_goal(house.runtime, "crab", asked, asker, key=key)

    assert inject("k0") == inject("k0") == runtime.goals(house.runtime, "crab")[0]
    with pytest.raises(Invalid):
        [inject(f"k{n}") for n in range(ASPIRATIONS + 1)]
    with pytest.raises(NotFound):
        runtime.inject_goal(house.runtime, "nobody", NewGoal(name="x"), asker, key="k")


def test_what_an_agent_wants_and_makes_of_others_is_read(house: House, crab: World) -> None:
    assert runtime.goals(house.runtime, "crab") == ()
    assert runtime.active_plan(house.runtime, "crab") is None
    assert runtime.peer_model(house.runtime, "crab", "hermit") is None
    peer = Peer(agent_id="hermit", last_at=house.clock.now())
    house.home.facts.commit(new_fact("crab", PEER, "hermit", peer))
    assert runtime.peer_model(house.runtime, "crab", "hermit") == peer
    assert runtime.nop_count(house.runtime, "crab") == 0
    runtime.flush_memory(house.runtime, "crab")


@pytest.mark.parametrize("name", ["status", "goals", "active_plan", "flush_memory", "load", "tick"])
def test_nobody_is_not_found(house: House, kingdom: ReferenceWorld, name: str) -> None:
    with pytest.raises(NotFound):
        getattr(runtime, name)(house.runtime, "nobody")
