"""Budgets over REST: shown with what is drawn, set while turns run, and returned."""

from typing import Any

import pytest

from opencrab.domain.money.budget import Limits
from tests.contract.waiting import at_once
from tests.integration.rest.house import House, problem

CONFIGURED = Limits().model_dump(mode="json")


def test_budgets_are_the_configured_ones_until_somebody_sets_others(house: House) -> None:
    found = house.got("/budgets")
    assert (found["limits"], found["configured"], found["changed"]) == (
        CONFIGURED,
        CONFIGURED,
        [],
    )
    assert found["drawn"] == [
        {"scope": "installation", "drawn_micro_usd": 0, "limit_micro_usd": 5_000_000}
    ]
    assert found["day"] == house.runtime.clock.now().strftime("%Y-%m-%d")


def test_a_limit_is_set_and_the_others_stay(house: House) -> None:
    changed = house.call("PUT", "/budgets", {"limits": {"turn_micro_usd": 7}}).json()
    assert changed["limits"] == {**CONFIGURED, "turn_micro_usd": 7}
    assert changed["changed"] == ["turn_micro_usd"]
    body = {"limits": {"session_micro_usd": 5, "heartbeat_percent": 0}}
    changed = house.call("PUT", "/budgets", body).json()
    assert changed["limits"]["turn_micro_usd"] == 7
    assert changed["limits"]["session_micro_usd"] == 5
    assert changed["changed"] == ["turn_micro_usd", "session_micro_usd", "heartbeat_percent"]
    open_ended = house.call("PUT", "/budgets", {"limits": {"session_micro_usd": 0}}).json()
    assert open_ended["limits"]["session_micro_usd"] is None
    back = house.call("PUT", "/budgets", {"limits": None}).json()
    assert (back["limits"], back["changed"]) == (CONFIGURED, [])


def test_one_limit_is_returned_to_the_configured_one(house: House) -> None:
    house.call("PUT", "/budgets", {"limits": {"turn_micro_usd": 7, "block_micro_usd": 8}})
    body = {"limits": {"turn_micro_usd": None, "session_micro_usd": None}}
    back = house.call("PUT", "/budgets", body).json()
    assert back["limits"] == {**CONFIGURED, "block_micro_usd": 8}
    assert back["changed"] == ["block_micro_usd"]


def test_no_change_changes_nothing(house: House) -> None:
    house.call("PUT", "/budgets", {"limits": {"turn_micro_usd": 7}})
    answer = house.call("PUT", "/budgets", {"limits": {}}).json()
    assert answer["changed"] == ["turn_micro_usd"]
    assert house.runtime.home.budgets.limits() == {"turn_micro_usd": 7}


def test_two_who_set_limits_at_once_lose_nothing(house: House) -> None:
    names = [name for name in CONFIGURED if name != "heartbeat_percent"]

    def change(place: int) -> int:
        body = {"limits": {names[place]: place + 1}}
        return house.call("PUT", "/budgets", body).status_code

    assert at_once(len(names), change) == [200] * len(names)
    assert house.got("/budgets")["changed"] == names


def test_an_agents_budgets_go_by_its_own_limit(house: House) -> None:
    agent_id = house.agent(day_limit_micro_usd=400)
    found = house.got(f"/budgets?agent={agent_id}")["drawn"]
    assert [(one["scope"], one["limit_micro_usd"]) for one in found] == [
        ("installation", 5_000_000),
        (f"agent:{agent_id}", 400),
        (f"heartbeat:{agent_id}", 100),
    ]
    problem(house.call("GET", "/budgets?agent=nobody"), 404)
    problem(house.raw("GET", "/budgets?agent=a%20b"), 422, "agent")


def test_a_limit_of_nothing_ends_the_next_turn_before_it_costs(house: House) -> None:
    house.call("PUT", "/budgets", {"limits": {"turn_micro_usd": 0, "block_micro_usd": 1}})
    session_id = house.session()
    turn_id = house.say(session_id, "hello")[0]
    house.work()
    turn = house.got(f"/turns/{turn_id}")
    assert turn["spent_micro_usd"] == 0
    assert turn["status"] in {"completed", "exhausted"}


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"turn_micro_usd": -1}, "limits.turn_micro_usd"),
        ({"turn_micro_usd": 10**12 + 1}, "limits.turn_micro_usd"),
        ({"turn_micro_usd": 10**40}, "limits.turn_micro_usd"),
        ({"turn_micro_usd": 1.5}, "limits.turn_micro_usd"),
        ({"turn_micro_usd": "5"}, "limits.turn_micro_usd"),
        ({"turn_micro_usd": True}, "limits.turn_micro_usd"),
        ({"block_micro_usd": 0}, "limits.block_micro_usd"),
        ({"heartbeat_percent": 101}, "limits.heartbeat_percent"),
        ({"heartbeat_percent": -1}, "limits.heartbeat_percent"),
        ({"month_micro_usd": 1}, "limits.month_micro_usd"),
        ([], "limits"),
        (5, "limits"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(house: House, limits: Any, field: str) -> None:
    found = problem(house.call("PUT", "/budgets", {"limits": limits}), 422, field)
    assert found["cure"]
    assert house.runtime.home.budgets.limits() == {}


def test_a_limit_that_is_no_number_is_no_json(house: House) -> None:
    kind = {"Content-Type": "application/json"}
    body = b'{"limits": {"turn_micro_usd": NaN}}'
    problem(house.raw("PUT", "/budgets", body, headers=kind), 422, "body")


def test_only_the_owner_sees_and_sets_budgets(house: House) -> None:
    problem(house.call("GET", "/budgets", key=house.chat), 403)
    assert house.call("GET", "/budgets", key=house.read).status_code == 200, "its grant is all"
    for key in (house.read, house.chat):
        problem(house.call("PUT", "/budgets", {"limits": None}, key=key), 403)
