"""Peer policies over REST: who may reach whom is shown and set by owners."""

from typing import Any

import pytest

from tests.integration.rest.house import House, problem


def names(view: dict[str, Any]) -> list[str]:
    return [each["name"] for each in view["in_reach"]]


def test_agents_of_one_owner_reach_each_other_until_an_owner_says_otherwise(
    house: House,
) -> None:
    aki, bo = house.agent("秋"), house.agent("Botan")
    path = f"/agents/{aki}/peer-policy"
    shown = house.got(path)
    assert (shown["reach"], shown["agents"], names(shown)) == ("owner", [], ["Botan"])
    nobody = house.call("PUT", path, {"reach": "nobody"}).json()
    assert (nobody["reach"], names(nobody)) == ("nobody", [])
    # Neither does the other one reach it.
    assert names(house.got(f"/agents/{bo}/peer-policy")) == []
    only = house.call("PUT", path, {"reach": "listed", "agents": [bo]}).json()
    assert (only["agents"], names(only)) == ([bo], ["Botan"])
    assert house.call("PUT", path, {}).json() == shown


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reach": "everybody"}, "reach"),
        ({"reach": "listed"}, "agents"),
        ({"reach": "owner", "agents": ["x"]}, "agents"),
        ({"reach": "listed", "agents": ["no-such-agent"]}, "agents"),
        ({"reach": "listed", "agents": ["a"] * 51}, "agents"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(
    house: House, body: dict[str, Any], field: str
) -> None:
    refused = problem(house.call("PUT", f"/agents/{house.agent()}/peer-policy", body), 422)
    assert any(each["field"] == field for each in refused.get("errors", [refused]))


def test_an_agent_that_does_not_exist_has_no_policy(house: House) -> None:
    for method, body in (("GET", None), ("PUT", {"reach": "nobody"})):
        problem(house.call(method, "/agents/nobody/peer-policy", body), 404)
