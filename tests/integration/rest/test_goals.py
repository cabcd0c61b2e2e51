"""Goals over REST: given, explained number by number, carried out by plans, given up."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    PlannedTask,
    TaskStatus,
    goal_document_id,
    with_plan,
)
from opencrab.domain.goals.plan import PLAN, abandoned_goal_plan_id, replan_goal
from opencrab.engine.agents.vital_signs import change_agent_vital_signs
from opencrab.engine.autonomy.heartbeat import sweep_heartbeats
from tests.integration.rest.house import House, problem

TERMS = ("urgency", "expected_reward", "capability_match", "novelty", "social_value")


def test_an_owners_goal_is_there_once_and_explains_itself(shared: House) -> None:
    agent = shared.agent()
    given = {
        "name": "海を知る",
        "description": "深いところまで",
        "expected_reward": 0.9,
        "deadline": "2126-01-01T00:00:00+09:00",
    }
    refused = shared.call("POST", f"/agents/{agent}/goals", given)
    assert "more than ten years away" in problem(refused, 422)["detail"]
    given["deadline"] = "2031-01-01T00:00:00+09:00"
    once = {"Idempotency-Key": "g1"}
    first, second = (shared.made(f"/agents/{agent}/goals", given, headers=once) for _ in range(2))
    assert first == second
    assert (first["id"], first["source"], first["horizon"]) == ("G1", "owner", "objective")
    assert (first["instruction"], first["status"]) == ("深いところまで", "pending")
    high = shared.made(f"/agents/{agent}/goals", {"name": "志", "horizon": "aspiration"})
    assert shared.got(f"/agents/{agent}/goals")["items"][1]["score"] is None
    listed = shared.got(f"/agents/{agent}/goals?explain=1")["items"]
    assert [each["id"] for each in listed] == [high["id"], "G1"]
    for each in (*listed, shared.got(f"/agents/{agent}/goals/G1?explain=1")):
        score = each["score"]
        for term in TERMS:
            assert score[term] == pytest.approx(score["values"][term] * score["weights"][term])
        assert score["priority"] == pytest.approx(sum(score[term] for term in TERMS))
    assert listed[1]["score"]["values"]["expected_reward"] == 0.9


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x", "deadline": "2020-01-01T00:00:00Z"}, "deadline"),
        ({"name": "x", "deadline": "2031-01-01T00:00:00"}, "deadline"),
        ({"name": "x", "horizon": "tick"}, "horizon"),
        ({"name": "x", "novelty": 1.1}, "novelty"),
        ({"name": "x", "worth": {}}, "worth"),
    ],
)
def test_a_bad_goal_is_refused_and_named(shared: House, body: dict[str, Any], field: str) -> None:
    agent = shared.agent()
    told = problem(shared.call("POST", f"/agents/{agent}/goals", body), 422)
    assert field in str(told)
    assert shared.got(f"/agents/{agent}/goals")["items"] == []


@pytest.mark.parametrize("language", ["ja", "en"])
def test_an_agent_takes_the_goal_next_that_its_owner_puts_first(
    house: House, language: str
) -> None:
    agent = house.agent(language=language)
    place = f"/agents/{agent}/goal-order"
    for name, reward in (("蟹 first", 0.9), ("海 second", 0.6), ("岩 third", 0.0)):
        house.made(f"/agents/{agent}/goals", {"name": name, "expected_reward": reward})
    house.made(f"/agents/{agent}/goals", {"name": "志", "horizon": "aspiration"})
    assert [each["id"] for each in house.got(place)["goals"]] == ["G1", "G2", "G3"]
    wanted = {"goals": ["G3", "G2", "G1"]}
    saved = house.call("PUT", place, wanted).json()["goals"]
    assert [each["name"] for each in saved] == ["岩 third", "海 second", "蟹 first"]
    assert house.got(place)["goals"] == saved
    for wrong in (["G4"], ["G9"], ["G1", "G1"]):
        problem(house.call("PUT", place, {"goals": wrong}), 422, "goals")
    past = house.runtime.clock.now().replace(microsecond=0) - timedelta(seconds=1)
    change_agent_vital_signs(house.runtime, agent, lambda signs: signs.replaced(next_beat_at=past))
    sweep_heartbeats(house.runtime)
    begun = {each["id"]: each["status"] for each in house.got(f"/agents/{agent}/goals")["items"]}
    assert begun == {"G1": "pending", "G2": "pending", "G3": "active", "G4": "pending"}
    assert [each["id"] for each in house.got(place)["goals"]] == ["G2", "G1"]


def test_a_goal_is_given_up_once_and_for_good(shared: House) -> None:
    agent = shared.agent()
    shared.made(f"/agents/{agent}/goals", {"name": "掃除"})
    for _ in range(2):
        up = shared.made(f"/agents/{agent}/goals/G1/abandon", {"reason": "暗い"})
        assert up["status"] == "abandoned"
    assert shared.got(f"/agents/{agent}/goals?explain=1")["items"][0]["score"] is None
    problem(shared.call("POST", f"/agents/{agent}/goals/G7/abandon", {}), 404)


def test_the_plan_of_now_and_those_that_were_given_up_are_shown(shared: House) -> None:
    agent = shared.agent()
    assert shared.call("GET", f"/agents/{agent}/plan").json() is None
    shared.made(f"/agents/{agent}/goals", {"name": "掃除"})
    facts, now = shared.runtime.home.facts, shared.runtime.clock.now()
    stored = facts.get(agent, GOAL, goal_document_id("G1"))
    assert stored is not None
    rows = tuple(PlannedTask(name=f"n{n}", precondition="…", postcondition="…") for n in range(5))
    goal = with_plan(stored.read(Goal).replaced(authority=Authority.SELF), rows)
    done = goal.tasks[0].replaced(status=TaskStatus.DONE, result="秘密")
    goal, old = replan_goal(goal.with_task(done).replaced(stuck="暗い"), rows[:1], now)
    mind = facts.get(agent, MIND, MIND)
    assert mind is not None
    current = mind.with_body(
        mind.read(AgentState).replaced(agenda=Agenda(current="G1", open=("G1",)))
    )
    kept = new_fact(agent, PLAN, abandoned_goal_plan_id("G1", 1), old)
    facts.commit(stored.with_body(goal), kept, current)
    shown = shared.got(f"/agents/{agent}/plan")
    assert (shown["revision"], shown["status"]) == (2, "active")
    assert [task["id"] for task in shown["tasks"]] == ["G1-T1", "G1-T6"]
    (earlier,) = shown["earlier"]
    assert (earlier["revision"], earlier["why"], len(earlier["tasks"])) == (1, "暗い", 5)
    assert shared.got(f"/agents/{agent}/plans")["items"] == [shown]
    veiled = shared.got(f"/agents/{agent}/plans", key=shared.read)
    assert "秘密" not in str(veiled)
