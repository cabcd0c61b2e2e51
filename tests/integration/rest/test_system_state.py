"""The switches over REST: everything or one agent is frozen before its next step, and thawed."""

from typing import Any

import pytest

from tests.integration.rest.house import House, problem

STATE = "/system/state"


def frozen(*agents: str, everything: bool = False) -> dict[str, Any]:
    """How the switches stand."""
    return {"state": "frozen" if everything else "running", "frozen_agents": sorted(agents)}


def test_an_installation_runs_until_it_is_frozen(house: House) -> None:
    assert house.got(STATE) == frozen()
    for _ in range(2):
        changed = house.call("PUT", STATE, {"state": "frozen"})
        assert (changed.status_code, changed.json()) == (200, frozen(everything=True))
    assert house.call("PUT", STATE, {"state": "running"}).json() == frozen()


def test_agents_are_frozen_one_by_one(house: House) -> None:
    first, second = house.agent("葵"), house.agent("Rowan")
    for agent_id in (first, second):
        house.call("PUT", STATE, {"state": "frozen", "agent_id": agent_id})
    assert house.got(STATE) == frozen(first, second)
    body = {"state": "running", "agent_id": first}
    assert house.call("PUT", STATE, body).json() == frozen(second)


@pytest.mark.parametrize("whole", [True, False])
def test_every_key_sees_which_of_its_agents_are_frozen(house: House, *, whole: bool) -> None:
    agent_id, other = house.agent("葵"), house.agent("Rowan")
    granted, _ = house.granted(f"agent:{agent_id}")
    scope = {} if whole else {"agent_id": agent_id}
    house.call("PUT", STATE, {"state": "frozen", **scope})
    for key in (house.owner, house.chat, house.read, granted):
        listed = {each["id"]: each["frozen"] for each in house.got("/agents", key=key)["items"]}
        assert listed[agent_id]
        assert house.got(f"/agents/{agent_id}", key=key)["frozen"]
        assert listed.get(other, whole) is whole
    problem(house.call("GET", STATE, key=house.chat), 403)
    assert house.call("PATCH", f"/agents/{agent_id}", {}).json()["frozen"]
    house.call("PUT", STATE, {"state": "running", **scope})
    assert not house.got(f"/agents/{agent_id}", key=house.chat)["frozen"]


@pytest.mark.parametrize("whole", [True, False])
def test_queued_work_stops_before_it_costs_anything(house: House, *, whole: bool) -> None:
    agent_id = house.agent("葵", language="ja")
    session_id = house.session(agent_id)
    turn_id = house.say(session_id, "書いて")[0]
    scope = {} if whole else {"agent_id": agent_id}
    house.call("PUT", STATE, {"state": "frozen", **scope})
    house.work()
    turn = house.got(f"/turns/{turn_id}")
    assert (turn["status"], turn["model_calls"]) == ("stopped", 0)
    house.call("PUT", STATE, {"state": "running", **scope})
    again = house.say(session_id, "もう一度")[0]
    house.work()
    assert house.got(f"/turns/{again}")["status"] == "completed"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "state"),
        ({"state": "asleep"}, "state"),
        ({"state": True}, "state"),
        ({"state": None}, "state"),
        ({"state": "frozen", "agent_id": ""}, "agent_id"),
        ({"state": "frozen", "agent_id": "a b"}, "agent_id"),
        ({"state": "frozen", "agent_id": 5}, "agent_id"),
        ({"state": "frozen", "agents": []}, "agents"),
    ],
)
def test_a_switch_that_cannot_be_turned_stays(house: House, body: Any, field: str) -> None:
    assert problem(house.call("PUT", STATE, body), 422, field)["cure"]
    assert house.got(STATE) == frozen()


def test_an_unknown_agent_is_not_frozen(house: House) -> None:
    body = {"state": "frozen", "agent_id": "nobody"}
    problem(house.call("PUT", STATE, body), 404)
    assert house.got(STATE) == frozen()


def test_only_the_owner_turns_switches(house: House) -> None:
    for key in (house.read, house.chat):
        problem(house.call("GET", STATE, key=key), 403)
        problem(house.call("PUT", STATE, {"state": "frozen"}, key=key), 403)
    problem(house.call("PUT", STATE, {"state": "frozen"}, headers={"Authorization": ""}), 401)
    assert house.got(STATE) == frozen()
