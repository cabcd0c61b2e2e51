"""A cycle at work: each own turn uses a unit, and the next follows until none is left."""

from dataclasses import replace

import pytest

from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.world.binding import WorldBinding
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.world.binding import bind_to_world, receive_world_message, world_of_agent
from opencrab.engine.world.policy import NewWorldPolicy, set_world_policy
from opencrab.engine.world.units import UNITS_LEFT
from tests.crash.outside import Reply
from tests.e2e.beating import drain, signs
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld

pytest_plugins = ["tests.unit.engine.kingdom"]

NOTHING = (Reply(calls=(("send_noreact", {}),)),) * 60


def crab(house: House, kingdom: ReferenceWorld, *steps: Reply, **beat: object) -> WorldBinding:
    agent = house.agent("crab", steps or NOTHING)
    heartbeat = Heartbeat(**{"instructions": "Look at the market.", **beat})  # type: ignore[arg-type]
    house.home.agents.save(agent.replaced(heartbeat=heartbeat))
    world = kingdom.admit(bind_to_world(house.runtime, "crab", kingdom.binding()))
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    return world


def live(house: House, seconds: int) -> int:
    """Pass the seconds, with every heartbeat at its time; the number of own turns that ended."""
    for _ in range(seconds):
        house.clock.advance(1)
        drain(house)
        house.work()
    return signs(house, "crab").turns


def units(house: House) -> int | None:
    return world_of_agent(house.home, "crab").units


def test_turns_follow_each_other_until_all_units_are_used(
    house: House, kingdom: ReferenceWorld
) -> None:
    world = crab(house, kingdom)
    receive_world_message(house.runtime, kingdom.allocation(world, 4))
    assert live(house, 20) == 4
    assert units(house) == 0
    assert live(house, 30) == 4
    told = [fact.read(AgentEvent) for fact in house.home.facts.page("crab", HAPPENING)]
    assert {event.type for event in told} == {UNITS_LEFT}
    assert not any(event.tainted for event in told)
    receive_world_message(house.runtime, kingdom.allocation(world, 1, cycle=2))
    assert live(house, 10) == 5


def test_a_turn_that_sends_has_paid_for_itself(house: House, kingdom: ReferenceWorld) -> None:
    ask = ("world_send", {"message": "BALANCE_QUERY", "payload": {"agent_id": "crab"}})
    world = crab(house, kingdom, Reply(calls=(ask,)), Reply(text="done"), *NOTHING)
    body = {"cycle": 1, "world_hash": b"\xab" * 32, "epoch": "E", "prices": {"BALANCE_QUERY": 0}}
    receive_world_message(house.runtime, kingdom.say(world.key_id, "WORLD_STATE", body))
    set_world_policy(house.runtime, "crab", NewWorldPolicy(trusted=True))
    receive_world_message(house.runtime, kingdom.allocation(world, 2))
    assert live(house, 1) == 1
    assert (len(kingdom.heard), units(house)) == (1, 1)


def test_without_instructions_units_wake_nobody(house: House, kingdom: ReferenceWorld) -> None:
    world = crab(house, kingdom, instructions="")
    receive_world_message(house.runtime, kingdom.allocation(world, 4))
    assert live(house, 10) == 0
    assert units(house) == 4


def test_an_agent_that_does_nothing_for_long_rests_until_the_next_cycle(
    house: House, kingdom: ReferenceWorld
) -> None:
    world = crab(house, kingdom)
    most = house.runtime.rules.autonomy.dormant_after
    receive_world_message(house.runtime, kingdom.allocation(world, most + 20))
    assert live(house, 40) == most
    assert units(house) == 20
    receive_world_message(house.runtime, kingdom.allocation(world, 1, cycle=2))
    assert live(house, 5) == most + 1


def test_what_a_person_asks_for_uses_no_unit(house: House, kingdom: ReferenceWorld) -> None:
    world = crab(house, kingdom, Reply(text="Hello."), instructions="")
    receive_world_message(house.runtime, kingdom.allocation(world, 4))
    house.session(house.home.agents.get("crab").agent)
    (turn,) = house.say("Hi")
    house.work()
    assert house.turn(turn.id).trigger is not Trigger.HEARTBEAT
    assert units(house) == 4


def test_units_never_cost_more_than_the_share_of_the_day(
    house: House, kingdom: ReferenceWorld
) -> None:
    rules = house.runtime.rules
    limits = rules.limits.replaced(heartbeat_percent=0)
    house.runtime = replace(house.runtime, rules=replace(rules, limits=limits))
    world = crab(house, kingdom)
    receive_world_message(house.runtime, kingdom.allocation(world, 2**63))
    assert live(house, 20) == 0
    assert units(house) == 2**63


@pytest.mark.parametrize("again", [1, 3])
def test_a_repeated_allocation_gives_no_units_anew(
    house: House, kingdom: ReferenceWorld, again: int
) -> None:
    world = crab(house, kingdom)
    raw = kingdom.allocation(world, 2)
    for _ in range(again):
        receive_world_message(house.runtime, raw)
    assert live(house, 15) == 2
