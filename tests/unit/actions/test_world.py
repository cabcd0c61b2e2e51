"""Actions of the world: only for agents that are bound to one, paid for once, checked before."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from opencrab.actions.registry import Registry
from opencrab.actions.world import group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.policy import needs_approval
from opencrab.domain.errors import Unavailable
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.domain.world.binding import WorldBinding
from opencrab.engine.world.binding import bind_to_world, receive_world_message, world_of_agent
from opencrab.ports.turn.action import ActionContext
from tests.clearing import with_nobody_else
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld

REGISTRY = Registry([group])
CLAIM = {"message": "BOUNTY_CLAIM", "payload": {"bounty_id": "b1", "claimer": "蟹"}}


class Desk:
    """A bound agent with two units, and its calls."""

    def __init__(self, house: House, folder: Path) -> None:
        self.kingdom = ReferenceWorld(house.clock)
        self.house = house
        house.runtime = replace(house.runtime, world=self.kingdom.link(folder))
        self.agent = house.agent("crab", (Reply(text="…"),), Language.JA)
        house.session(self.agent)
        (turn,) = house.say("…")
        self.turn: Turn = turn
        self.world: WorldBinding = self.kingdom.admit(
            bind_to_world(house.runtime, "crab", self.kingdom.binding())
        )
        receive_world_message(house.runtime, self.kingdom.allocation(self.world, 2))

    def context(self, key: str = "k1") -> ActionContext:
        home, runtime = self.house.home, self.house.runtime
        agent, session = home.agents.get("crab").agent, home.sessions.get("s")
        cleared = with_nobody_else(session, self.turn)
        reach, actions = runtime.reach, runtime.actions
        return ActionContext(agent, session, self.turn, key, reach, runtime.clock, actions, cleared)

    def call(self, name: str, arguments: Mapping[str, object], key: str = "k1") -> ActionResult:
        action = REGISTRY.find(name)
        assert action is not None
        told, context = action.arguments.model_validate(arguments), self.context(key)
        if action.prepare is not None:
            context = replace(context, prepared=action.prepare(told, context))
        return action.run(told, context)

    @property
    def units(self) -> int | None:
        return world_of_agent(self.house.runtime.home, "crab").units


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    house = House(sqlite, tmp_path)
    yield Desk(house, tmp_path / "secrets")
    house.close()


def test_only_bound_agents_have_them(desk: Desk) -> None:
    bound, routing = desk.context().agent, Routing(default="x:y")
    assert len(REGISTRY.allowed(bound, routing, Authority.SELF)) == 2
    assert REGISTRY.allowed(desk.agent, routing, Authority.SELF) == ()
    names = [action.name for action in REGISTRY.allowed(bound, routing, Authority.PUBLIC)]
    assert names == ["world_messages"]
    assert needs_approval("world_send", Impact.EXTERNAL, bound.policy, tainted=False)


def test_a_message_is_sent_and_costs_a_unit(desk: Desk) -> None:
    result = desk.call("world_send", CLAIM)
    assert result.data == {"sent": "BOUNTY_CLAIM", "units_left": 1}
    assert desk.kingdom.heard == [("BOUNTY_CLAIM", {"bounty_id": "b1", "claimer": "蟹"})]


def test_the_same_call_again_is_paid_for_once_and_heard_once(desk: Desk) -> None:
    desk.kingdom.silent = 1
    with pytest.raises(Unavailable):
        desk.call("world_send", CLAIM)
    for _ in range(2):
        assert desk.call("world_send", CLAIM).success
    assert (desk.units, len(desk.kingdom.heard)) == (1, 1)


def test_without_units_nothing_is_sent(desk: Desk) -> None:
    for key in ("k1", "k2"):
        assert desk.call("world_send", CLAIM, key).success
    refused = desk.call("world_send", CLAIM, "k3")
    assert "no budget units" in str(refused.error)
    assert (desk.units, len(desk.kingdom.heard)) == (0, 2)


def test_what_does_not_fit_is_told_and_costs_nothing(desk: Desk) -> None:
    for arguments in (
        {"message": "FLY"},
        {"message": "BOUNTY_CLAIM", "payload": {"bounty_id": "b1"}},
        {"message": "MSG_POST", "payload": {"text": "a" * 70_000}},
    ):
        assert not desk.call("world_send", cast("Mapping[str, object]", arguments)).success
    assert (desk.units, desk.kingdom.heard) == (2, [])


def test_the_list_tells_names_first_and_what_they_hold_by_target(desk: Desk) -> None:
    everything = desk.call("world_messages", {}).data or {}
    assert sum(len(names) for names in everything["messages"].values()) == 41
    assert everything["messages"]["Mint"]["TRANSFER"] == "通貨を送金"
    assert (everything["you"], everything["units"]) == (desk.world.key_id, 2)
    vault = desk.call("world_messages", {"target": "vault"}).data or {}
    assert list(vault["messages"]) == ["Vault"]
    assert "{snap_id: Hash256}" in vault["messages"]["Vault"]["SNAP_GET"]


def test_an_installation_without_a_way_says_so(desk: Desk) -> None:
    desk.house.runtime = replace(desk.house.runtime, world=None)
    for name, arguments in (("world_send", CLAIM), ("world_messages", {})):
        refused = desk.call(name, cast("Mapping[str, object]", arguments))
        assert "worlds are not configured" in str(refused.error)
