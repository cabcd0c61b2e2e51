"""Heartbeats over REST: how an agent lives on its own, what its beats were for, is it awake?"""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.autonomy.instruction_plan import (
    INSTRUCTION_PLAN,
    InstructionPlan,
    PlannedGoal,
    autonomy_instruction_plan_key,
)
from opencrab.domain.document import new_fact
from opencrab.engine.agents.vital_signs import change_agent_vital_signs, store_event_for_agent
from opencrab.engine.autonomy.heartbeat import sweep_heartbeats
from opencrab.engine.autonomy.instruction_plan import apply_instruction_plan_to_schedules
from tests.integration.rest.house import House, problem


def wake(house: House, agent_id: str, number: int) -> None:
    """Let something happen to an agent, and its beat be due."""
    now = house.runtime.clock.now()
    event = AgentEvent(id=f"{number:06d}", type="speech", source="taro", text="雨", at=now)
    assert store_event_for_agent(house.runtime, agent_id, event)
    past = now.replace(microsecond=0) - timedelta(seconds=1)
    change_agent_vital_signs(
        house.runtime,
        agent_id,
        lambda signs: signs.replaced(turn_id=None, next_beat_at=past - number * timedelta(hours=1)),
    )


@pytest.mark.parametrize("words", ["街を見て回り、気づいたことを話す", "Look around"])
def test_a_heartbeat_is_shown_and_replaced_under_its_agents_version(
    shared: House, words: str
) -> None:
    path = f"/agents/{shared.agent()}/heartbeat"
    before = shared.call("GET", path, key=shared.read)
    assert (before.json()["enabled"], before.json()["interval_seconds"]) == (True, 61)
    body: dict[str, Any] = {
        "interval_seconds": 127,
        "instructions": words,
        "active_hours": {"start": "08:00", "end": "23:00", "zone": "Asia/Tokyo"},
        "subscriptions": [{"type": "world.*"}],
    }
    version = {"If-Match": before.headers["etag"]}
    after = shared.call("PUT", path, body, headers=version)
    assert (after.status_code, after.json()["instructions"]) == (200, words)
    assert shared.got(path) == after.json()
    assert shared.call("PUT", path, after.json()).json() == after.json()
    problem(shared.call("PUT", path, body, headers=version), 409, "If-Match")
    assert shared.call("PUT", path, {}).json() == before.json()


@pytest.mark.parametrize(
    ("body", "field", "cure"),
    [
        ({"interval_seconds": 0}, "interval_seconds", "take 29"),
        ({"interval_seconds": -7}, "interval_seconds", "take 29"),
        ({"interval_seconds": 60}, "interval_seconds", "take 61"),
        ({"interval_seconds": 10**12}, "interval_seconds", "take 86399"),
        ({"active_hours": {"zone": "Asia/Edo"}}, "active_hours.zone", "IANA"),
        ({"subscriptions": [{"type": "*x"}]}, "subscriptions.0.type", ""),
    ],
)
def test_a_heartbeat_that_cannot_be_is_refused_and_says_what_can(
    shared: House, body: dict[str, Any], field: str, cure: str
) -> None:
    answer = shared.call("PUT", f"/agents/{shared.agent()}/heartbeat", body)
    assert cure in str(problem(answer, 422, field))


def test_beats_with_a_reason_are_listed_newest_first_and_the_others_counted(house: House) -> None:
    agent_id = house.agent()
    path = f"/agents/{agent_id}/heartbeats"
    assert house.got(path)["totals"]["beats"] == 0
    for number in (2, 1):
        wake(house, agent_id, number)
        sweep_heartbeats(house.runtime)
        house.work()
    page = house.got(f"{path}?limit=1")
    rest = house.got(f"{path}?limit=1&cursor={page['next_cursor']}")
    beats = [*page["items"], *rest["items"]]
    assert rest["next_cursor"] is None
    assert [beat["reasons"] for beat in beats] == [["unread"]] * 2
    assert beats[0]["slot"] > beats[1]["slot"]
    assert [(each["decision"], each["status"]) for each in beats] == [("idle", "idle")] * 2
    assert house.got(f"/turns/{beats[0]['turn_id']}")["session_id"] == beats[0]["session_id"]
    totals = page["totals"]
    assert (totals["beats"], totals["idle"], totals["turns"]) == (2, 0, 2)
    assert totals["next_beat_at"] is not None
    problem(house.call("GET", f"{path}?cursor=x"), 422, "cursor")
    problem(house.call("GET", "/agents/nobody/heartbeats"), 404)


def test_a_status_is_changed_by_the_owner_and_retiring_is_for_good(house: House) -> None:
    path = f"/agents/{house.agent()}/status"
    found = house.got(path, key=house.read)
    assert (found["status"], found["nop_count"], found["warning"]) == ("active", 0, False)
    assert found["next_beat_at"] is not None
    agent_id = path.split("/")[2]
    change_agent_vital_signs(house.runtime, agent_id, lambda signs: signs.replaced(in_vain=3))
    assert (house.got(path)["nop_count"], house.got(path)["warning"]) == (3, True)
    assert house.got(f"/agents/{agent_id}/vitals")["warning"] is True
    asleep = house.call("PUT", path, {"status": "dormant"}).json()
    assert (asleep["status"], asleep["next_beat_at"]) == ("dormant", None)
    awake = house.call("PUT", path, {"status": "active"}).json()
    assert (awake["nop_count"], awake["next_beat_at"] is None) == (0, False)
    problem(house.call("PUT", path, {"status": "dead"}), 422, "status")
    assert house.call("PUT", path, {"status": "retired"}).json()["next_beat_at"] is None
    problem(house.call("PUT", path, {"status": "active"}), 409)
    problem(house.call("PUT", f"/agents/{agent_id}/heartbeat", {}), 409)


def test_an_event_that_an_owner_tells_is_kept_once_and_wakes_its_agent(house: House) -> None:
    path = f"/agents/{(agent_id := house.agent())}/events"
    facts = house.runtime.home.facts
    news = {"type": "build.failed", "source": "ci", "text": "雨で止まった", "id": "b-17"}
    first, again = (house.call("POST", path, news) for _ in range(2))
    assert (first.status_code, first.json()["kept"]) == (202, True)
    assert again.json() == first.json()
    trusted = {"type": "news", "source": "ops", "trusted": True, "opportunity": True}
    once = {"Idempotency-Key": "n1"}
    answers = [house.call("POST", path, trusted, headers=once) for _ in range(2)]
    assert answers[0].content == answers[1].content
    problem(house.call("POST", path, news, headers=once), 409, "Idempotency-Key")
    built, told = (fact.read(AgentEvent) for fact in facts.page(agent_id, HAPPENING))
    assert (built.id, built.text, built.tainted) == (first.json()["id"], "雨で止まった", True)
    assert (told.tainted, told.opportunity, built.opportunity) == (False, True, False)
    assert (built.authority, told.authority) == (Authority.PUBLIC, Authority.OWNER)
    past = house.runtime.clock.now().replace(microsecond=0) - timedelta(seconds=1)
    change_agent_vital_signs(
        house.runtime, agent_id, lambda signs: signs.replaced(next_beat_at=past)
    )
    sweep_heartbeats(house.runtime)
    house.work()
    assert house.got(f"/agents/{agent_id}/heartbeats")["items"][0]["reasons"] == ["unread"]
    assert house.call("POST", path, news).json() == first.json()
    assert len(facts.page(agent_id, HAPPENING)) == 2
    deaf = {"subscriptions": [{"type": "world.*"}]}
    assert house.call("PUT", f"/agents/{agent_id}/heartbeat", deaf).status_code == 200
    assert house.call("POST", path, {**news, "id": "b-18"}).json()["kept"] is False
    problem(house.call("POST", path, {**news, "type": "Build"}), 422, "type")
    problem(house.call("POST", path, {**news, "text": "x" * 2_001}), 422, "text")
    problem(house.call("POST", "/agents/nobody/events", news), 404)
    house.call("PUT", f"/agents/{agent_id}/status", {"status": "retired"})
    problem(house.call("POST", path, {**news, "id": "b-19"}), 409)


def test_an_agents_time_zone_is_set_with_it_and_kept_by_its_heartbeat(shared: House) -> None:
    made = shared.call("POST", "/agents", {"name": "Kani", "time_zone": "Asia/Tokyo"}).json()
    path = f"/agents/{made['id']}"
    assert made["time_zone"] == "Asia/Tokyo"
    whole = {"start": "00:00", "end": "00:00", "zone": "Asia/Tokyo"}
    assert shared.got(f"{path}/heartbeat")["active_hours"] == whole
    body = {"active_hours": {"start": "08:00", "end": "22:00"}}
    assert shared.call("PUT", f"{path}/heartbeat", body).json()["active_hours"]["zone"] == (
        "Asia/Tokyo"
    )
    berlin = shared.call("PATCH", path, {"time_zone": "Europe/Berlin"}).json()
    assert berlin["time_zone"] == "Europe/Berlin"
    hours = shared.got(f"{path}/heartbeat")["active_hours"]
    assert hours == {"start": "08:00", "end": "22:00", "zone": "Europe/Berlin"}
    problem(shared.call("PATCH", path, {"time_zone": "Asia/Edo"}), 422, "time_zone")
    draft = {"name": "a", "when": "0 8 * * *", "instructions": "Greet"}
    assert shared.call("POST", f"{path}/schedules", draft).json()["zone"] == "Europe/Berlin"


def test_the_plan_of_instructions_is_shown_with_its_schedule(house: House) -> None:
    path = f"/agents/{house.agent()}"
    assert house.got(f"{path}/instruction-plan")["state"] == "none"
    agent_id = path.removeprefix("/agents/")
    house.call("PUT", f"{path}/heartbeat", {"instructions": "Greet daily at 8"})
    agent = house.runtime.home.agents.get(agent_id).agent
    now = house.runtime.clock.now()
    goal = PlannedGoal(name="Greet", words="Greet", times="0 8 * * *")
    plan = InstructionPlan(key=autonomy_instruction_plan_key(agent), asked_at=now)
    fact = new_fact(agent_id, INSTRUCTION_PLAN, INSTRUCTION_PLAN, plan)
    house.runtime.home.facts.commit(fact)
    assert house.got(f"{path}/instruction-plan")["state"] == "waiting"
    told = fact.with_body(plan.replaced(planned=True, goals=(goal,), note="Hi"))
    house.runtime.home.facts.commit(told)
    assert apply_instruction_plan_to_schedules(house.runtime, agent)
    shown = house.got(f"{path}/instruction-plan")
    assert (shown["state"], shown["note"], shown["goals"][0]["name"]) == ("planned", "Hi", "Greet")
    (schedule,) = house.got(f"{path}/schedules")["items"]
    assert schedule["from_instructions"]
    assert schedule["id"] == shown["goals"][0]["schedule_id"]
    house.call("PUT", f"{path}/heartbeat", {})
    assert house.got(f"{path}/schedules")["items"] == []
    assert house.got(f"{path}/instruction-plan")["state"] == "none"
