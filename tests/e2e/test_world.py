"""A bound agent in a world, in each home: units and an event come in, a signed claim goes out."""

from dataclasses import replace
from pathlib import Path

from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.world.binding import (
    Reception,
    bind_to_world,
    receive_world_message,
    world_of_agent,
)
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld

OWNER = Decider(id="owner", is_owner=True)
CLAIM = {"message": "BOUNTY_CLAIM", "payload": {"bounty_id": "b1", "claimer": "crab"}}
ASK = {"message": "BALANCE_QUERY", "payload": {"agent_id": "crab"}}


def test_a_bounty_is_claimed_with_a_heartbeat_and_the_owners_leave(
    house: House, tmp_path: Path
) -> None:
    kingdom = ReferenceWorld(house.clock)
    house.runtime = replace(house.runtime, world=kingdom.link(tmp_path / "secrets"))
    claim = ("use_action", {"name": "world_send", "arguments": CLAIM})
    steps = (
        Reply(calls=(claim,)),
        Reply(calls=(("world_send", ASK),)),
        Reply(text="引き受けました"),
    )
    house.agent("crab", steps)
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    crab = kingdom.admit(bind_to_world(house.runtime, "crab", kingdom.binding(balance=30)))

    bounty = {"kind": "bounty", "bounty_id": "b1", "reward": 50}
    event = kingdom.say(crab.key_id, "EVENT", bounty)
    assert receive_world_message(house.runtime, kingdom.allocation(crab, 5)) is Reception.TAKEN
    assert [receive_world_message(house.runtime, event) for _ in range(2)] == [
        Reception.TAKEN,
        Reception.AGAIN,
    ]

    house.later(61)
    (asked,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    turn = house.turn(asked.turn_id)
    assert (turn.trigger, turn.status) == (Trigger.HEARTBEAT, TurnStatus.WAITING)
    assert turn.taint, "an event of a world is foreign words"
    assert kingdom.heard == []
    while pending := approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False):
        approvals.decide_approval(house.runtime, pending[0].id, approved=True, who=OWNER)
        house.work()

    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    assert [name for name, _ in kingdom.heard] == ["BOUNTY_CLAIM", "BALANCE_QUERY"]
    assert world_of_agent(house.runtime.home, "crab").units == 3
    assert kingdom.deliver(house.runtime) == [Reception.TAKEN]
    assert world_of_agent(house.runtime.home, "crab").reputation == 0.5
