"""Unconfirmed calls over REST: listed, asked about, and settled by the owner's word."""

from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.access.authority import Scope
from tests.integration.rest.house import House, problem
from tests.integration.rest.thinking import PRICE

PATH = "/costs/reconcile"


def lost_call(house: House, name: str = "葵") -> tuple[dict[str, Any], dict[str, Any]]:
    """A turn whose only call was blocked, perhaps after it was billed, and that call as listed."""
    house.thinking.model = Scripted((ScriptedAnswer(error="blocked"),), price=PRICE)
    agent_id = house.agent(name)
    turn_id = house.say(house.session(agent_id), "いくら?")[0]
    house.work()
    listed = house.got(f"/costs/unconfirmed?agent={agent_id}")
    assert listed["complete"] is True
    (call,) = listed["items"]
    assert (call["turn_id"], call["agent_id"]) == (turn_id, agent_id)
    return house.got(f"/turns/{turn_id}"), call


def drawn(house: House) -> int:
    return int(house.got("/budgets")["drawn"][0]["drawn_micro_usd"])


def test_a_call_is_settled_by_the_owners_word_once(house: House) -> None:
    turn, call = lost_call(house)
    held = call["held_micro_usd"]
    assert house.got("/budgets")["unconfirmed_micro_usd"] == held
    assert drawn(house) == turn["spent_micro_usd"]
    body = {"call": call["metrics_id"], "cost_micro_usd": 12}
    settled = house.call("POST", PATH, body).json()
    assert (settled["settled"], settled["cost_micro_usd"]) == (True, 12)
    assert settled["returned_micro_usd"] == held - 12
    assert settled["settled_by"]
    assert house.call("POST", PATH, body).json() == settled, "the same request again"
    assert drawn(house) == turn["spent_micro_usd"] - held + 12
    assert house.got("/budgets")["unconfirmed_micro_usd"] == 0
    assert house.got(f"/costs/unconfirmed?agent={call['agent_id']}")["items"] == []
    problem(house.call("POST", PATH, body | {"cost_micro_usd": 13}), 409, "call")
    explained = house.got(f"/costs/explain?turn={turn['id']}")
    assert explained["calls"][0]["ground"] == "settled"
    assert explained["adds_up"] is True


def test_a_cost_above_the_reservation_must_be_meant(house: House) -> None:
    turn, call = lost_call(house, "Ken")
    body = {"call": call["metrics_id"], "cost_micro_usd": call["reserved_micro_usd"] + 1}
    told = problem(house.call("POST", PATH, body), 422, "cost_micro_usd")
    assert "above the reservation" in told["detail"]
    settled = house.call("POST", PATH, body | {"above_reservation": True}).json()
    assert settled["returned_micro_usd"] == -1
    assert drawn(house) == turn["spent_micro_usd"] + 1


def test_a_provider_is_asked_where_no_cost_is_given(house: House) -> None:
    _, call = lost_call(house)
    body = {"call": call["metrics_id"]}
    held = house.call("POST", PATH, body).json()
    assert (held["settled"], held["returned_micro_usd"]) == (False, 0)
    assert held["problem"]
    assert held["cure"]
    house.thinking.billed[call["provider_call_id"]] = 5
    settled = house.call("POST", PATH, body).json()
    assert (settled["settled"], settled["cost_micro_usd"], settled["problem"]) == (True, 5, "")
    assert settled["settled_by"] == f"provider:{call['provider']}"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"call": "蟹"}, 422),
        ({"call": "20260217T090000.000000Z-nobody-0001"}, 404),
        ({"call": "x", "cost_micro_usd": -1}, 422),
        ({"call": "x", "cost_micro_usd": 0.5}, 422),
    ],
)
def test_a_call_that_cannot_be_settled_is_refused(
    house: House, body: dict[str, Any], status: int
) -> None:
    problem(house.call("POST", PATH, body), status)


def test_only_owners_list_and_settle(house: House) -> None:
    _, call = lost_call(house)
    for scope in (Scope.CHAT, Scope.READ):
        key = house.key(scope)[0]
        problem(house.call("POST", PATH, {"call": call["metrics_id"]}, key=key), 403)
        path = f"/costs/unconfirmed?agent={call['agent_id']}"
        problem(house.call("GET", path, key=key), 403)
    problem(house.call("GET", "/costs/unconfirmed?agent=nobody"), 404)
