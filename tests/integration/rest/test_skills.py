"""Skills over REST: seen by readers, written, switched, approved and archived by the owner."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.skills.lifecycle import SkillTeaching, skill_lesson, teach_learned_skill
from opencrab.domain.skills.skill import (
    ACQUIRED_SKILLS,
    SKILL,
    AcquiredSkill,
    Effectiveness,
    SourceType,
)
from tests.conftest import ROOT
from tests.contract.waiting import at_once
from tests.integration.rest.house import House, problem

BODY = {
    "name": "Good Questions",
    "description": "質問のしかた",
    "situation_pattern": "質問",
    "guidance": "「なぜ」と尋ねる。",
}
STANDARD = 7


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation with the shipped skills."""
    house = House(tmp_path)
    house.furnish(skills=FileSkills(ROOT / "skills"))
    yield house
    house.close()


def mind(house: House, agent: str) -> AgentState:
    """What the agent's turns know."""
    fact = house.runtime.home.facts.get(agent, MIND, MIND)
    return fact.read(AgentState) if fact else AgentState()


def waiting(house: House, agent: str, name: str = "from-ada", text: str = "Be brief.") -> None:
    """A skill that a peer taught."""
    teaching = SkillTeaching(source_type=SourceType.PEER, taught_by="Ada", turn_id="t1")
    skill = teach_learned_skill(
        None, skill_lesson(name, "短く", guidance=text), teaching, house.runtime.clock.now()
    )
    house.runtime.home.facts.commit(new_fact(agent, SKILL, name, skill))


def done(house: House, method: str, path: str, body: Any = None, **sent: Any) -> Any:
    """The answer to a request that is in order."""
    answer = house.call(method, path, body, **sent)
    assert answer.is_success, answer.text
    return answer.json()


def test_standard_skills_are_listed_on_or_off_in_the_agents_language(house: House) -> None:
    for language, word in (("ja", "ファイル"), ("en", "files")):
        agent = house.agent(language=language)
        items = house.got(f"/agents/{agent}/skills", key=house.read)["items"]
        assert len(items) == STANDARD
        assert {item["kind"] for item in items} == {"standard"}
        shown = {item["name"]: item for item in items}
        assert shown["workspace-management"]["status"] == "active"
        assert word in shown["workspace-management"]["description"]
        assert shown["autonomous"]["status"] == "disabled"
        assert "guidance" not in shown["autonomous"]
        assert house.got(f"/agents/{agent}/skills/autonomous")["guidance"].startswith("# ")


def test_a_skill_is_created_changed_retired_and_restored(house: House) -> None:
    agent = house.agent()
    path = f"/agents/{agent}/skills"
    made = house.made(path, BODY)
    assert (made["name"], made["status"], made["version"]) == ("good-questions", "active", "1")
    assert (made["waits"], made["effectiveness"], made["withheld_percent"]) == (False, None, 0)
    assert (made["source_type"], made["guidance"]) == ("feedback", BODY["guidance"])
    assert made["taught_by"] == made["approved_by"] != ""
    problem(house.call("POST", path, BODY), 409, "name")
    one = f"{path}/good-questions"
    body = {key: value for key, value in BODY.items() if key != "name"} | {"guidance": "Ask."}
    assert house.call("GET", one).headers["ETag"] == '"1"'
    problem(house.call("PUT", one, body, headers={"If-Match": '"7"'}), 409, "If-Match")
    changed = done(house, "PUT", one, body, headers={"If-Match": '"1"'})
    assert (changed["version"], changed["guidance"]) == ("2", "Ask.")
    assert [each.name for each in mind(house, agent).skills] == ["good-questions"]
    assert done(house, "DELETE", one)["status"] == "archived"
    assert done(house, "DELETE", one)["version"] == "3"
    assert mind(house, agent).skills == ()
    assert done(house, "POST", f"{one}/restore")["status"] == "candidate"
    problem(house.call("POST", f"{one}/restore"), 409, "status")
    assert done(house, "PUT", f"{path}/another", body)["version"] == "1"


def test_a_skill_names_its_actions_and_is_tried_if_its_owner_says_so(house: House) -> None:
    path = f"/agents/{house.agent()}/skills"
    body = {**BODY, "name": "効果的な質問", "actions": ["ws_read", "send_speech"], "trial": True}
    made = house.made(path, body)
    assert (made["status"], made["withheld_percent"]) == ("candidate", 14)
    assert made["description"].startswith("効果的な質問: ")
    assert made["guidance"].endswith("Actions: ws_read, send_speech")
    problem(house.call("POST", path, {**BODY, "actions": ["no_such"]}), 422, "actions")


def test_a_request_that_is_repeated_is_done_once(house: House) -> None:
    path = f"/agents/{house.agent()}/skills"
    sent = {"headers": {"Idempotency-Key": "k1"}}
    first, again = (house.made(path, BODY, **sent) for _ in range(2))
    assert first == again
    toggle = f"{path}/good-questions/toggle"
    switch = {"headers": {"Idempotency-Key": "k2"}}
    assert [done(house, "POST", toggle, {}, **switch)["status"] for _ in range(2)] == [
        "disabled"
    ] * 2


def test_standard_skills_are_switched_and_nothing_else(house: House) -> None:
    agent = house.agent()
    path = f"/agents/{agent}/skills"
    on = done(house, "POST", f"{path}/autonomous/toggle", {})
    off = done(house, "POST", f"{path}/self-learning/toggle", {"on": False})
    assert (on["status"], off["status"]) == ("active", "disabled")
    assert done(house, "POST", f"{path}/autonomous/toggle", {"on": True})["status"] == "active"
    known = mind(house, agent)
    assert (known.enabled, known.disabled) == (("autonomous",), ("self-learning",))
    for name in ("autonomous", "self-learning"):
        done(house, "POST", f"{path}/{name}/toggle", {})
    assert mind(house, agent) == AgentState()
    body = {key: value for key, value in BODY.items() if key != "name"}
    for method, place in (
        ("PUT", "autonomous"),
        ("DELETE", "autonomous"),
        ("POST", "autonomous/approve"),
        ("POST", "autonomous/restore"),
    ):
        problem(house.call(method, f"{path}/{place}", body), 403, "name")


def test_what_waits_counts_when_the_owner_has_read_this_version(house: House) -> None:
    agent = house.agent()
    waiting(house, agent)
    one = f"/agents/{agent}/skills/from-ada"
    shown = house.got(one)
    assert (shown["status"], shown["taught_by"], shown["tainted"]) == ("quarantined", "Ada", True)
    problem(house.call("POST", f"{one}/toggle", {}), 409, "status")
    unread = problem(house.call("POST", f"{one}/approve"), 422, "If-Match")
    assert unread["cure"] == "send it as If-Match"
    stale = {"headers": {"If-Match": '"2"'}}
    problem(house.call("POST", f"{one}/approve", **stale), 409, "If-Match")
    once = {"headers": {"If-Match": '"1"', "Idempotency-Key": "once"}}
    approved = done(house, "POST", f"{one}/approve", **once)
    assert done(house, "POST", f"{one}/approve", **once) == approved
    assert (approved["status"], approved["tainted"]) == ("candidate", False)
    assert approved["approved_by"]
    assert [each.name for each in mind(house, agent).skills] == ["from-ada"]


def test_a_measured_skill_shows_its_number_and_an_owner_switches_it_on_for_good(
    house: House,
) -> None:
    agent = house.agent()
    one = f"/agents/{agent}/skills/good-questions"
    house.made(f"/agents/{agent}/skills", BODY)
    facts = house.runtime.home.facts
    fact = facts.get(agent, SKILL, "good-questions")
    assert fact is not None
    measured = Effectiveness(points=12.5, low=3, high=22, turns=80)
    facts.commit(fact.with_body(fact.read(AcquiredSkill).replaced(effectiveness=measured)))
    shown = house.got(one, key=house.read)
    assert shown["effectiveness"] == {"points": 12.5, "low": 3.0, "high": 22.0, "turns": 80}
    on = done(house, "POST", f"{one}/toggle", {"on": True})
    assert (on["status"], on["effectiveness"]) == ("active", shown["effectiveness"])
    assert mind(house, agent).pinned == ("skill:good-questions",)
    assert done(house, "POST", f"{one}/toggle", {})["status"] == "disabled"
    assert mind(house, agent).pinned == ()


def test_retiring_and_restoring_approves_nothing(house: House) -> None:
    agent = house.agent()
    waiting(house, agent)
    one = f"/agents/{agent}/skills/from-ada"
    done(house, "DELETE", one)
    assert done(house, "POST", f"{one}/restore")["status"] == "quarantined"
    assert mind(house, agent) == AgentState()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "", BODY),
        ("PUT", "/x", {"description": "d", "guidance": "g"}),
        ("DELETE", "/x", None),
        ("POST", "/autonomous/toggle", {}),
        ("POST", "/x/approve", None),
        ("POST", "/x/restore", None),
    ],
)
def test_readers_read_and_only_owners_write(
    house: House, method: str, path: str, body: Any
) -> None:
    place = f"/agents/{house.agent()}/skills"
    for key in (house.read, house.chat):
        problem(house.call(method, f"{place}{path}", body, key=key), 403)
    assert house.call("GET", place, key=house.read).status_code == 200


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"name": "send_speech"}, 403, "name"),
        ({"name": "Task Execution"}, 403, "name"),
        ({"name": "\u200b"}, 422, "name"),
        ({"guidance": "あ" * 3_000}, 413, "guidance"),
        ({"guidance": "\u200b"}, 422, "guidance"),
        ({"status": "active"}, 422, "status"),
    ],
)
def test_a_skill_that_may_not_be_is_refused(
    house: House, change: dict[str, str], status: int, field: str
) -> None:
    path = f"/agents/{house.agent()}/skills"
    problem(house.call("POST", path, {**BODY, **change}), status, field)


def test_a_skill_in_japanese_is_kept_under_a_name_of_ours(house: House) -> None:
    made = house.made(f"/agents/{house.agent()}/skills", {**BODY, "name": "具体例"})
    assert made["name"].startswith("skill-")
    assert made["description"] == "具体例: 質問のしかた"


def test_who_and_what_is_not_there_is_not_found(house: House) -> None:
    agent = house.agent()
    for path in ("/agents/nobody/skills", f"/agents/{agent}/skills/nothing"):
        problem(house.call("GET", path), 404)
    for name in ("toggle", "approve", "restore"):
        problem(house.call("POST", f"/agents/{agent}/skills/nothing/{name}", {}), 404)
    problem(house.call("DELETE", f"/agents/{agent}/skills/nothing"), 404)
    problem(house.call("GET", "/agents/nobody/skills/autonomous"), 404)
    problem(house.call("GET", f"/agents/{agent}/skills/A%20b"), 422)


def test_an_agent_that_retired_learns_nothing_more(house: House) -> None:
    agent = house.agent()
    house.call("DELETE", f"/agents/{agent}")
    path = f"/agents/{agent}/skills"
    problem(house.call("POST", path, BODY), 409)
    problem(house.call("POST", f"{path}/autonomous/toggle", {}), 409)
    assert len(house.got(path)["items"]) == STANDARD


def test_skills_come_in_pages_and_there_is_room_for_so_many(house: House) -> None:
    agent = house.agent()
    path = f"/agents/{agent}/skills"
    for number in range(ACQUIRED_SKILLS):
        waiting(house, agent, f"s-{number:02}")
    problem(house.call("POST", path, BODY), 403)
    seen, query = list[str](), "?limit=40"
    while query:
        page = house.got(f"{path}{query}")
        seen += [item["name"] for item in page["items"]]
        query = f"?limit=40&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert len(seen) == len(set(seen)) == STANDARD + ACQUIRED_SKILLS
    problem(house.call("GET", f"{path}?cursor=eA"), 422, "cursor")


def test_owners_who_change_skills_at_once_lose_nothing(house: House) -> None:
    agent = house.agent()
    path = f"/agents/{agent}/skills"

    def create(place: int) -> int:
        return house.call("POST", path, {**BODY, "name": f"s-{place}"}).status_code

    assert at_once(4, create) == [201] * 4
    assert [each.name for each in mind(house, agent).skills] == [f"s-{n}" for n in range(4)]


def test_a_skill_keeps_the_title_that_it_was_given(house: House) -> None:
    place = f"/agents/{house.agent()}/skills"
    body = {"name": "効果的な質問", "description": "議論を深める", "guidance": "なぜ、と尋ねる。"}
    made = house.made(place, body)
    assert made["title"] == "効果的な質問"
    assert made["name"].startswith("skill-")
    listed = {each["name"]: each["title"] for each in house.got(place)["items"]}
    assert listed[made["name"]] == "効果的な質問"
    plain = house.made(place, {**body, "name": "Good Questions"})
    assert (plain["name"], plain["title"]) == ("good-questions", "good-questions")
