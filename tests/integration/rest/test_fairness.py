"""How evenly agents spoke, over REST, and what may be decided about a discussion."""

from typing import Any

import pytest

from tests.integration.rest.house import House, problem


def test_shares_are_counted_and_an_observer_makes_nothing_uneven(shared: House) -> None:
    agents = [shared.agent(name) for name in ("凪", "汐", "渚")]
    roles = {agents[1]: "書記", agents[2]: "observer"}
    session_id = shared.made("/sessions", {"participants": agents, "roles": roles})["id"]
    before = shared.got(f"/sessions/{session_id}/fairness")
    assert (before["index"], before["characters"]) == (1, 0)
    shared.say(session_id, "say hello")
    shared.work()
    told = shared.got(f"/sessions/{session_id}/fairness")
    parts = told["participants"]
    assert [part["role"] for part in parts] == ["discussant", "書記", "observer"]
    assert [part["turns"] for part in parts] == [1, 1, 1]
    assert sum(part["characters"] for part in parts) == told["characters"] > 0
    assert sum(part["characters_share"] for part in parts) == pytest.approx(1)
    spoken = [part["characters"] for part in parts[:2]]
    index = sum(spoken) ** 2 / (2 * sum(each**2 for each in spoken))
    assert told["index"] == pytest.approx(index)
    assert all(0 <= part["silent_seconds"] < 60 for part in parts)
    problem(shared.call("GET", "/sessions/nobody/fairness"), 404)


def test_limits_of_a_discussion_are_set_and_shown(shared: House) -> None:
    agents = [shared.agent(name) for name in ("凪", "汐")]
    limits = {"hop_limit": 3, "quorum": 1, "budget_micro_usd": 1_000}
    made = shared.made("/sessions", {"participants": agents, **limits})
    assert {name: made[name] for name in limits} == limits
    assert (made["hops"], made["ended_by"]) == (0, None)
    usual = shared.made("/sessions", {"participants": agents, "facilitator_id": agents[0]})
    assert usual["hop_limit"] == 6
    three = {"participants": [*agents, shared.agent("渚")]}
    assert shared.made("/sessions", three)["hop_limit"] == 9
    watched = {**three, "roles": {agents[0]: "observer"}}
    assert shared.made("/sessions", watched)["hop_limit"] == 6
    assert [part["role"] for part in usual["participants"]] == ["facilitator", "discussant"]
    ended = shared.made(f"/sessions/{usual['id']}/end", None)
    assert ended["ended_by"] == "by_hand"
    assert shared.made("/sessions", {"participants": agents[:1]})["hop_limit"] is None


@pytest.mark.parametrize(
    "fields",
    [
        {"roles": {"nobody": "observer"}},
        {"roles": {"0": "observer", "1": "observer"}},
        {"roles": {"0": "observer"}, "facilitator_id": "0"},
        {"hop_limit": 0},
        {"hop_limit": 51},
        {"quorum": 0},
        {"budget_micro_usd": 0},
    ],
)
def test_what_makes_no_discussion_is_refused(shared: House, fields: dict[str, Any]) -> None:
    agents = [shared.agent(name) for name in ("凪", "汐")]
    named = dict(zip("01", agents, strict=True))
    given = dict(fields)
    if "roles" in given:
        given["roles"] = {named.get(key, key): role for key, role in given["roles"].items()}
    if "facilitator_id" in given:
        given["facilitator_id"] = named[given["facilitator_id"]]
    problem(shared.call("POST", "/sessions", {"participants": agents, **given}), 422)
