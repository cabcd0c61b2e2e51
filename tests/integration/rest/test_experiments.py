"""Experiments and changes over REST: what is tried out, what a night does, and the way back."""

from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.engine.insight import experiments as engine
from tests.integration.rest.house import problem
from tests.integration.rest.learning import SKILL, School

TURNS = 24
MIX, TRIAL = "models:conversation.conversation", "skill:good-questions"


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[School]:
    """An installation in which much is tried out."""
    school = School(tmp_path_factory.mktemp("school"))
    yield school
    school.close()


@pytest.fixture(scope="module")
def lived(school: School) -> tuple[str, list[Any]]:
    """An agent after a day, and what a dry run, a run and one more run of its night told."""
    agent, session = school.pupil("葵", leave="apply", goal="maximize_quality", explore=0.3)
    school.lesson(agent, session, TURNS)
    school.next_day()
    place = f"/agents/{agent}/meta/runs"
    runs = [school.made(place, {"dry_run": True}), school.got(f"/agents/{agent}/changes")]
    runs += [school.made(place, {"period": "daily"}), school.made(place, {})]
    return agent, runs


@pytest.fixture
def pupil(school: School) -> str:
    """An agent whose skill has only begun its trial."""
    return school.pupil("Ada", language="en")[0]


@pytest.fixture(scope="module")
def idle(school: School) -> str:
    """Such an agent, left as it is."""
    return school.pupil("Ben", language="en")[0]


def changes(school: School, agent: str) -> list[Any]:
    """What was changed about an agent, the newest first."""
    found: list[Any] = school.got(f"/agents/{agent}/changes")["items"]
    return found


def experiments(school: School, agent: str) -> dict[str, Any]:
    """What is tried out on an agent, by subject."""
    found = school.got(f"/agents/{agent}/experiments")
    return {each["subject"]: each for each in found["items"]}


def test_a_dry_run_foresees_what_the_run_then_does_once(
    school: School, lived: tuple[str, list[Any]]
) -> None:
    agent, (foreseen, nothing, looked, again) = lived
    assert nothing["items"] == []
    assert (foreseen["dry_run"], foreseen["report"]) == (True, [])
    made = {each["id"]: each for each in looked["adjustments"]}
    assert made == {each["id"]: each for each in foreseen["adjustments"]}
    assert {each["kind"] for each in made.values()} == {"models", "skill"}
    assert (looked["period"], looked["turns"], looked["judged"]) == (
        "daily-2026-11-16",
        TURNS,
        TURNS,
    )
    assert again["done_before"]
    stored = {each["id"] for each in changes(school, agent)}
    assert made.keys() <= stored


@pytest.mark.parametrize(
    ("name", "word"), [("2026-11-16.md", "points"), ("2026-11-16.ja.md", "ポイント")]
)
def test_the_report_can_be_read_in_both_languages(
    school: School, lived: tuple[str, list[Any]], name: str, word: str
) -> None:
    agent, _ = lived
    answer = school.call("GET", f"/agents/{agent}/workspace/reports/learning/{name}")
    assert answer.status_code == 200
    assert word in answer.text


def test_a_promoted_skill_is_a_change_with_the_numbers_behind_it(
    school: School, lived: tuple[str, list[Any]]
) -> None:
    agent, _ = lived
    (change,) = (each for each in changes(school, agent) if each["experiment"] == TRIAL)
    assert (change["before"], change["after"]) == ({"status": "candidate"}, {"status": "active"})
    evidence = change["evidence"]
    assert evidence["given"] + evidence["held"] == evidence["turns"] == TURNS
    assert 0 < evidence["low"] <= evidence["points"] <= evidence["high"]
    assert (change["state"], change["reason"]) == ("applied", "helps")
    assert school.got(f"/agents/{agent}/changes/{change['id']}") == change


def test_changes_are_listed_in_pages(school: School, lived: tuple[str, list[Any]]) -> None:
    agent, _ = lived
    whole = changes(school, agent)
    page = school.got(f"/agents/{agent}/changes?limit=1")
    found = list(page["items"])
    while page["next_cursor"]:
        page = school.got(f"/agents/{agent}/changes?limit=1&cursor={page['next_cursor']}")
        found += page["items"]
    assert found == whole
    assert [each["id"] for each in whole] == sorted((e["id"] for e in whole), reverse=True)


def test_mixed_models_are_drawn_stopped_and_brought_back(
    school: School, lived: tuple[str, list[Any]]
) -> None:
    agent, _ = lived
    mix = experiments(school, agent)[MIX]
    assert mix["state"] == "running"
    assert sum(each["weight"] for each in mix["models"]) == pytest.approx(1.0)
    known = {each["name"]: each for each in mix["models"]}
    assert known["scripted:rules"]["quality"]["n"] == TURNS
    assert known["openai:dear"]["quality"] is None
    school.say(school.session(agent), "元気?")
    school.work()
    assert school.got(f"/agents/{agent}/llm/metrics")["items"][0]["chosen_by"] == "learned"

    school.clock.advance(60)
    first = mix["decisions"][0]
    sent = {"headers": {"Idempotency-Key": "stop"}}
    stopped = school.made(f"/agents/{agent}/experiments/{MIX}/stop", None, **sent)
    assert school.made(f"/agents/{agent}/experiments/{MIX}/stop", None, **sent) == stopped
    assert list(stopped["after"]["weights"].values()) == [1.0]
    assert (stopped["before"], stopped["reason"]) == (first["after"], "stopped")
    assert experiments(school, agent)[MIX]["state"] == "pinned"
    refused = problem(school.call("POST", f"/agents/{agent}/changes/{first['id']}/undo"), 409)
    assert stopped["id"] in refused["detail"]

    place = f"/agents/{agent}/changes/{stopped['id']}/undo"
    undone = school.made(place, None)
    assert (undone["state"], undone["ended_by"]) == ("undone", stopped["by"])
    assert school.made(place, None) == undone
    weights = {each["model"]: each["weight"] for each in experiments(school, agent)[MIX]["models"]}
    assert weights == pytest.approx(first["after"]["weights"])


def test_a_skill_on_trial_says_how_far_it_is_and_why_nothing_is_known(
    school: School, idle: str
) -> None:
    found = experiments(school, idle)
    assert found.keys() == {TRIAL, "memory"}
    trial = found[TRIAL]
    assert (trial["state"], trial["verdict"], trial["reason"]) == (
        "running",
        "keep",
        "too_little_data",
    )
    assert trial["trial"]["turns"] == 0 < trial["trial"]["least_turns"]
    assert trial["effect"]["points"] is None
    assert found["memory"]["withheld_percent"] == 10
    assert school.got(f"/agents/{idle}/experiments")["as_of"] is None
    assert changes(school, idle) == []


def test_what_is_pinned_stays_until_it_is_let_go(school: School, pupil: str) -> None:
    place = f"/agents/{pupil}/experiments/{TRIAL}"
    assert school.made(f"{place}/pin", None) == {"subject": TRIAL, "pinned": True}
    found = school.got(f"/agents/{pupil}/experiments")
    assert (found["pinned"], found["items"][0]["state"]) == ([TRIAL], "pinned")
    assert school.made(f"{place}/unpin", None) == {"subject": TRIAL, "pinned": False}
    assert experiments(school, pupil)[TRIAL]["state"] == "running"
    problem(school.call("POST", f"{place}/unpin"), 404, "subject")
    assert not engine.find_unpinned_subject(school.runtime, pupil, TRIAL).pinned


def test_a_stopped_trial_leaves_the_skill_active_and_can_be_taken_back(
    school: School, pupil: str
) -> None:
    place, skill = f"/agents/{pupil}/experiments/{TRIAL}", f"/agents/{pupil}/skills/{SKILL['name']}"
    stopped = school.made(f"{place}/stop", None)
    assert (stopped["subject"], stopped["after"]) == (SKILL["name"], {"status": "active"})
    assert school.got(skill)["status"] == "active"
    assert experiments(school, pupil).keys() == {"memory"}
    school.clock.advance(60)
    assert (
        engine.find_stopped_experiment(school.runtime, pupil, TRIAL, stopped["by"]).id
        == stopped["id"]
    )
    problem(school.call("POST", f"{place}/stop"), 409)
    school.made(f"/agents/{pupil}/changes/{stopped['id']}/undo", None)
    assert school.got(skill)["status"] == "candidate"


def test_a_change_of_what_was_changed_since_is_not_taken_back(school: School, pupil: str) -> None:
    stopped = school.made(f"/agents/{pupil}/experiments/{TRIAL}/stop", None)
    school.made(f"/agents/{pupil}/skills/{SKILL['name']}/toggle", {"on": False})
    problem(school.call("POST", f"/agents/{pupil}/changes/{stopped['id']}/undo"), 409)
    assert school.got(f"/agents/{pupil}/changes/{stopped['id']}")["state"] == "applied"


def test_a_proposal_is_followed_once_at_its_owners_word(school: School) -> None:
    agent, session = school.pupil(
        "Eve", language="en", goal="maximize_quality", explore=0.3, min_quality=0.5
    )
    school.lesson(agent, session, TURNS)
    school.next_day()
    school.made(f"/agents/{agent}/meta/runs", {})
    (proposed,) = (each for each in changes(school, agent) if each["experiment"] == MIX)
    assert (proposed["state"], MIX in experiments(school, agent)) == ("proposed", False)
    place = f"/agents/{agent}/changes/{proposed['id']}"
    sent = {"headers": {"Idempotency-Key": "follow"}}
    made = school.made(f"{place}/apply", None, **sent)
    assert school.made(f"{place}/apply", None, **sent) == made
    assert (made["id"], made["state"]) == (proposed["id"], "applied")
    assert made["by"] != proposed["by"] == made["evidence"]["proposed_by"]
    assert school.got(place) == made
    weights = {each["model"]: each["weight"] for each in experiments(school, agent)[MIX]["models"]}
    assert weights == made["after"]["weights"]
    assert "not proposed" in problem(school.call("POST", f"{place}/apply"), 409)["detail"]
    school.made(f"{place}/undo", None)
    assert MIX not in experiments(school, agent)


@pytest.mark.parametrize(
    "subject",
    ["skill:nobody", "models:dreaming.x", "models:conversation", "skill", "mood:x", "memories:x"],
)
def test_what_is_not_there_is_told_with_what_is(school: School, idle: str, subject: str) -> None:
    for act in ("stop", "pin", "unpin"):
        place = f"/agents/{idle}/experiments/{subject}/{act}"
        assert TRIAL in problem(school.call("POST", place), 404, "subject")["cure"]


def test_an_owner_ends_the_trial_of_memories_for_one_agent_and_begins_it_again(
    school: School, pupil: str, idle: str
) -> None:
    place = f"/agents/{pupil}/experiments"
    sent = {"headers": {"Idempotency-Key": "hide"}}
    stopped = school.made(f"{place}/memories/stop", None, **sent)
    assert school.made(f"{place}/memories/stop", None, **sent) == stopped
    assert (stopped["kind"], stopped["experiment"], stopped["reason"]) == (
        "memories",
        "memory",
        "stopped",
    )
    assert (stopped["before"], stopped["after"]) == (
        {"withheld_percent": 10},
        {"withheld_percent": 0},
    )
    shown = experiments(school, pupil)["memory"]
    assert (shown["state"], shown["withheld_percent"]) == ("pinned", 0)
    assert [each["id"] for each in shown["decisions"]] == [stopped["id"]]
    assert school.got(place)["pinned"] == ["memory"]
    assert school.got(f"/agents/{pupil}/analytics/memory")["withheld_percent"] == 0
    assert experiments(school, idle)["memory"]["withheld_percent"] == 10
    problem(school.call("POST", f"{place}/memory/stop"), 409, "subject")
    school.clock.advance(60)
    assert (
        engine.find_stopped_experiment(school.runtime, pupil, "memories", stopped["by"]).id
        == stopped["id"]
    )

    undone = school.made(f"/agents/{pupil}/changes/{stopped['id']}/undo", None)
    assert (undone["state"], school.got(place)["pinned"]) == ("undone", [])
    assert experiments(school, pupil)["memory"]["withheld_percent"] == 10
    again = school.made(f"{place}/memory/stop", None)
    assert school.made(f"{place}/memory/unpin", None) == {"subject": "memory", "pinned": False}
    assert experiments(school, pupil)["memory"]["state"] == "running"
    problem(school.call("POST", f"/agents/{pupil}/changes/{again['id']}/undo"), 409)
    assert school.made(f"{place}/memory/pin", None) == {"subject": "memory", "pinned": True}
    assert experiments(school, pupil)["memory"]["withheld_percent"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"period": "hourly"}, "period"),
        ({"period": None}, "period"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"period": "daily", "apply": True}, None),
        ([], None),
    ],
)
def test_a_run_that_cannot_be_is_refused(
    school: School, idle: str, body: Any, field: str | None
) -> None:
    problem(school.call("POST", f"/agents/{idle}/meta/runs", body), 422, field)


@pytest.mark.parametrize("period", ["weekly", "review"])
def test_a_time_without_turns_is_looked_at_and_changes_nothing(
    school: School, idle: str, period: str
) -> None:
    looked = school.made(f"/agents/{idle}/meta/runs", {"period": period})
    assert (looked["period"].partition("-")[0], looked["turns"]) == (period, 0)
    assert (looked["adjustments"], looked["junk"]["rate"]) == ([], None)


def test_nobody_has_no_experiments_and_no_changes(school: School, idle: str) -> None:
    for method, path in (
        ("GET", "/agents/nobody/experiments"),
        ("POST", f"/agents/nobody/experiments/{TRIAL}/pin"),
        ("GET", "/agents/nobody/changes"),
        ("POST", "/agents/nobody/meta/runs"),
        ("GET", f"/agents/{idle}/changes/nothing"),
        ("POST", f"/agents/{idle}/changes/nothing/undo"),
        ("POST", f"/agents/{idle}/changes/nothing/apply"),
    ):
        problem(school.call(method, path, {} if path.endswith("runs") else None), 404)
