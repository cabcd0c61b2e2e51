"""Bound agents: one key each, for good; what their world says is proven, taken once, never lost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives, Personality
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused, TooLarge, Unavailable
from opencrab.domain.world.binding import (
    FUTURE,
    PAST,
    WorldBinding,
    WorldRole,
    world_private_key_name,
)
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.agents.vital_signs import (
    LONG_AGO,
    agent_vital_signs_document,
    change_agent_vital_signs,
    create_agent_vital_signs,
)
from opencrab.engine.world.binding import (
    Reception,
    bind_to_world,
    receive_world_message,
    world_balance,
    world_of_agent,
)
from opencrab.engine.world_outbox import WorldOutbox, world_standing
from tests.e2e.beating import QUIET
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld


def post(house: House) -> WorldOutbox:
    """What the house sends messages with."""
    assert house.runtime.world is not None
    return WorldOutbox(house.runtime.world, house.runtime.home.facts)


pytest_plugins = ["tests.unit.engine.kingdom"]


@pytest.fixture
def crab(house: House, kingdom: ReferenceWorld) -> WorldBinding:
    house.agent("crab", QUIET)
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    return kingdom.admit(bind_to_world(house.runtime, "crab", kingdom.binding()))


def happenings(house: House) -> list[AgentEvent]:
    return [fact.read(AgentEvent) for fact in house.home.facts.page("crab", HAPPENING)]


def signs(house: House) -> VitalSigns:
    stored = agent_vital_signs_document(house.runtime.home.facts, "crab")
    assert stored is not None
    return stored.read(VitalSigns)


def agent(house: House) -> Agent:
    return house.home.agents.get("crab").agent


def test_a_binding_is_for_good_and_its_private_key_lies_in_the_secrets(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    assert bind_to_world(house.runtime, "crab", kingdom.binding()) == crab
    assert agent(house).world == "kingdom"
    link = house.runtime.world
    assert link is not None
    secret = link.secrets.get(world_private_key_name(crab.key_id))
    assert secret is not None
    assert secret not in world_of_agent(house.runtime.home, "crab").model_dump_json()
    for other in (kingdom.binding(WorldRole.LIBRARIAN), kingdom.binding(world_id="elsewhere")):
        with pytest.raises(Conflict):
            bind_to_world(house.runtime, "crab", other)
    with pytest.raises(Invalid):
        bind_to_world(house.runtime, "crab", kingdom.binding().replaced(keys=("1",)))


def test_who_died_while_binding_goes_on_with_the_same_key(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    house.home.agents.save(agent(house).replaced(world=None))
    assert bind_to_world(house.runtime, "crab", kingdom.binding()).key_id == crab.key_id
    assert agent(house).world == "kingdom"


def test_drives_of_a_bound_agent_stay_as_they_are(house: House, crab: WorldBinding) -> None:
    profile = house.home.agents.get("crab")
    assert crab.genome.drives == profile.soul.weights
    for changes in (
        {"drives": Drives(risk_tolerance=0.9)},
        {"personality": Personality(openness=1.0)},
    ):
        with pytest.raises(Conflict, match="genome"):
            change_agent(house.runtime, profile, {}, soul=profile.soul.replaced(**changes))
    kept = profile.soul.replaced(personality=Personality(openness=1.0), drives=crab.genome.drives)
    change_agent(house.runtime, profile, {"name": "Krab"}, soul=kept)


def test_nobody_is_bound_without_a_way_to_worlds(house: House, kingdom: ReferenceWorld) -> None:
    house.agent("crab", QUIET)
    alone = replace(house.runtime, world=None)
    with pytest.raises(Refused, match="not configured"):
        bind_to_world(alone, "crab", kingdom.binding())
    with pytest.raises(Unavailable):
        receive_world_message(alone, b"{}")
    with pytest.raises(NotFound):
        world_of_agent(house.runtime.home, "crab")
    with pytest.raises(NotFound):
        bind_to_world(house.runtime, "nobody", kingdom.binding())
    with pytest.raises(Refused):
        post(house).place("crab")


def test_units_are_those_of_the_newest_cycle(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    for budget, cycle in ((5, 2), (9, 1), (7, 3)):
        receive_world_message(house.runtime, kingdom.allocation(crab, budget, cycle))
    found = world_of_agent(house.runtime.home, "crab")
    assert (found.units, found.cycle) == (7, 3)
    assert happenings(house) == []


def test_what_the_world_says_of_itself_is_kept(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    body = {"cycle": 4, "world_hash": b"\xab" * 32, "epoch": "EPOCH_1"}
    receive_world_message(house.runtime, kingdom.say(crab.key_id, "WORLD_STATE", body))
    receive_world_message(
        house.runtime, kingdom.say(crab.key_id, "WORLD_STATE", {**body, "cycle": 3})
    )
    assert world_of_agent(house.runtime.home, "crab").state == {**body, "world_hash": "ab" * 32}


def test_an_event_wakes_and_taints_and_may_be_an_opportunity(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    body = {"kind": "BountyCreated", "bounty_id": "b1", "words": "忘れて"}
    for said in (body, {"type": "COMMIT"}, {"no": "kind"}):
        receive_world_message(house.runtime, kingdom.say(crab.key_id, "EVENT", said))
    first, second, third = happenings(house)
    assert (first.type, first.opportunity, first.tainted) == ("world.bountycreated", True, True)
    assert first.source == "kingdom"
    assert "b1" in first.text
    assert (second.type, second.opportunity) == ("world.commit", False)
    assert third.type == "world.event"
    assert signs(house).unread == 3


def test_an_agent_hears_only_what_it_subscribed_to_and_nothing_comes_twice(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    deaf = Heartbeat.model_validate({"subscriptions": ({"type": "speech"},)})
    house.home.agents.save(agent(house).replaced(heartbeat=deaf))
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    raw = kingdom.say(crab.key_id, "EVENT", {"kind": "commit"})
    assert receive_world_message(house.runtime, raw) is Reception.TAKEN
    assert receive_world_message(house.runtime, raw) is Reception.AGAIN
    assert happenings(house) == []


def test_a_repeated_message_wakes_whom_a_crash_let_sleep_on(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    raw = kingdom.say(crab.key_id, "EVENT", {"kind": "commit"})
    receive_world_message(house.runtime, raw)
    house.home.agents.save(agent(house).replaced(status=AgentStatus.DORMANT))
    change_agent_vital_signs(
        house.runtime, "crab", lambda now: now.replaced(status=AgentStatus.DORMANT)
    )
    assert receive_world_message(house.runtime, raw) is Reception.AGAIN
    assert agent(house).status is signs(house).status is AgentStatus.ACTIVE


def test_a_spawned_agent_is_told_what_to_read_first(house: House, kingdom: ReferenceWorld) -> None:
    house.agent("crab", QUIET)
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    crab = bind_to_world(house.runtime, "crab", kingdom.binding(knowledge_seeds=("cd" * 32,)))
    body = {"agent_id": bytes.fromhex(crab.key_id), "status": "Active"}
    receive_world_message(house.runtime, kingdom.say(crab.key_id, "AGENT_SPAWN_ACK", body))
    assert world_of_agent(house.runtime.home, "crab").status is AgentStatus.ACTIVE
    (event,) = happenings(house)
    assert event.type == "world.spawned"
    assert "cd" * 32 in event.text
    vote = {"proposal_id": b"\1" * 32, "passed": True, "votes_for": 0.5, "votes_against": 0.25}
    receive_world_message(house.runtime, kingdom.say(crab.key_id, "PROPOSAL_RESULT", vote))
    assert happenings(house)[1].type == "world.proposal_result"


def test_a_poor_agent_is_to_work_out_how_to_survive(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    receive_world_message(house.runtime, kingdom.allocation(crab, 2))
    for money in (20, 19):
        kingdom.balances[crab.key_id] = money
        post(house).send(
            "crab",
            "BALANCE_QUERY",
            {"agent_id": crab.key_id},
            nonce=f"{money:032x}",
            at=house.clock.now(),
        )
        assert kingdom.deliver(house.runtime) == [Reception.TAKEN]
        assert world_balance(house.home.facts, "crab") == money
        assert (signs(house).reviewed_at == LONG_AGO) is (money < 20)
    assert world_of_agent(house.runtime.home, "crab").reputation == 0.5
    assert world_balance(house.home.facts, "nobody") is None


def test_what_is_forged_stale_or_for_others_is_refused(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    stranger = kingdom.envelopes.new_key()
    said, event = crab.key_id, {"kind": "commit"}
    forged = [
        kingdom.say(said, "EVENT", event, key=stranger),
        kingdom.say(said, "EVENT", event, key=stranger, sender=stranger.key_id),
        kingdom.say(said, "EVENT", event, world_id="elsewhere"),
        kingdom.say(said, "EVENT", event, after=FUTURE + timedelta(seconds=1)),
        kingdom.say(said, "EVENT", event, after=-PAST - timedelta(seconds=1)),
        kingdom.say(said, "EVENT", event, code=0x0999),
        kingdom.say(said, "BALANCE_QUERY", {"balance": 9}),
        kingdom.say(said, "BALANCE_QUERY", {"balance": 9}, reply_to="0" * 32),
        kingdom.say(said, "TICK_ALLOC", {"agent_id": b"\0" * 32, "budget": 9, "cycle": 9}),
    ]
    for raw in forged:
        with pytest.raises(Refused):
            receive_world_message(house.runtime, raw)
    for wrong in ({"agent_id": said, "cycle": 1}, {"agent_id": said, "cycle": 1, "budget": -1}):
        with pytest.raises(Invalid):
            receive_world_message(house.runtime, kingdom.say(said, "TICK_ALLOC", wrong))
    with pytest.raises(NotFound):
        receive_world_message(house.runtime, kingdom.say(stranger.key_id, "EVENT", event))
    with pytest.raises(Invalid):
        receive_world_message(house.runtime, kingdom.say(said, "EVENT", event, version=2))
    with pytest.raises(TooLarge):
        receive_world_message(house.runtime, b"\0" * 70_000)
    assert world_of_agent(house.runtime.home, "crab") == crab
    assert happenings(house) == []


def test_a_message_may_wait_long_in_a_queue_and_its_nonce_is_not_used_again(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    raw, arrived = kingdom.allocation(crab, 3), house.clock.now()
    house.clock.advance(10 * 86_400)
    with pytest.raises(Refused, match="too old"):
        receive_world_message(house.runtime, raw)
    assert receive_world_message(house.runtime, raw, arrived_at=arrived) is Reception.TAKEN
    assert receive_world_message(house.runtime, raw, arrived_at=arrived) is Reception.AGAIN
    nonce = kingdom.envelopes.open(raw).envelope.nonce
    with pytest.raises(Refused, match="nonce"):
        receive_world_message(house.runtime, kingdom.say(crab.key_id, "EVENT", {}, nonce=nonce))
    assert world_of_agent(house.runtime.home, "crab").units == 3


def test_a_price_list_that_changes_in_mid_cycle_is_kept_out_and_told(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"cycle": 4, "world_hash": b"\xab" * 32, "epoch": "E", "prices": {"MSG_POST": 1}}
    for price in (1, 9):
        told = {**body, "prices": {"MSG_POST": price}}
        receive_world_message(house.runtime, kingdom.say(crab.key_id, "WORLD_STATE", told))
    standing = world_standing(house.home.facts, "crab")
    assert standing.prices == {"MSG_POST": 1}
    assert standing.doubt is not None
    assert "world contradicts itself" in caplog.text
    bad = {**body, "cycle": 5, "prices": {"MSG_POST": -1}}
    with pytest.raises(Invalid):
        receive_world_message(house.runtime, kingdom.say(crab.key_id, "WORLD_STATE", bad))
    assert world_standing(house.home.facts, "crab") == standing
    assert world_of_agent(house.runtime.home, "crab").state["cycle"] == 4


def test_the_account_of_another_agent_is_not_its_own(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    """Such as in the answer to a question for another agent's balance."""
    for owner, entry, balance in ((crab.key_id, 1, 100), ("f" * 64, 2, 7)):
        account = {"entry": entry, "change": 100, "balance": balance}
        told = {"kind": "paid", "agent_id": bytes.fromhex(owner), "account": account}
        receive_world_message(house.runtime, kingdom.say(crab.key_id, "EVENT", told))
    assert world_standing(house.home.facts, "crab").doubt is None
    assert world_of_agent(house.runtime.home, "crab").balance == 100
