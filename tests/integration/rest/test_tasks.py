"""Tasks over REST: an instruction carried out in sight, steered, paused, resumed and given up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.access.authority import Scope
from opencrab.engine.autonomy.sweep import sweep_due_items
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House, problem

WORDS = {
    "ja": (
        "ノートを整理して",
        "学習マップ",
        "notes/機械学習.md",
        "整理しました",
        "報告する (report)",
    ),
    "en": ("Organise the notes", "Study map", "notes/ml.md", "Organised", "Report (report)"),
}
COUNT = 5


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house whose tests each make an agent of their own."""
    folder: Path = tmp_path_factory.mktemp("busy")
    house = House(folder)
    yield house
    house.close()


def step(words: str, name: str, text: str = "", **arguments: Any) -> ScriptedAnswer:
    """What the model answers to such words, in the order of these answers."""
    return ScriptedAnswer(text, (ScriptedCall(name, arguments),), when=words)


def scripted(house: House, language: str = "en") -> None:
    """A plan of five tasks: the first writes a file, the second fails; then the report."""
    instruction, name, path, told, _ = WORDS[language]
    plan = [
        {"name": f"{name} {n}", "precondition": "…", "postcondition": f"{n}"}
        for n in range(1, COUNT + 1)
    ]
    answers = [
        step(instruction, "plan_goal", "<thinking>15</thinking> plan", goal_id="G1", tasks=plan),
        step("[G1-T1]", "ws_write", path=path, content="# マップ"),
        step("[G1-T1]", "finish_task", task_id="G1-T1", result="書いた"),
        step("[G1-T2]", "fail_task", task_id="G1-T2", cause="ない"),
    ]
    for n in range(3, COUNT + 1):
        answers.append(step(f"[G1-T{n}]", "ws_list"))
        answers.append(step(f"[G1-T{n}]", "finish_task", task_id=f"G1-T{n}", result="ok"))
    house.script(*answers, step("[G1] ", "report", summary=told, results=[path, "vault/no.md"]))


def given(house: House, language: str = "en", **sent: Any) -> tuple[str, dict[str, Any]]:
    """A new agent's first task, and where it is."""
    scripted(house, language)
    instruction, name, *_ = WORDS[language]
    place = f"/agents/{house.agent(language=language)}/tasks"
    return place, house.made(place, {"instruction": instruction, "name": name}, **sent)


def carried_out(house: House) -> None:
    """Work until nothing is due any more."""
    house.work()
    while sweep_due_items(house.runtime):
        house.work()


@pytest.mark.parametrize("language", WORDS)
def test_an_instruction_is_planned_carried_out_and_reported(busy: House, language: str) -> None:
    _, name, path, told, report = WORDS[language]
    place, task = given(busy, language)
    assert (task["id"], task["name"], task["status"]) == ("G1", name, "active")
    busy.work()
    planned = busy.got(f"{place}/G1-T1")
    assert [part["status"] for part in planned["tasks"]] == ["active", *["pending"] * 4]
    carried_out(busy)
    done = busy.got(f"{place}/G1")
    assert (done["status"], done["completion"], done["over"]) == ("completed", 80, True)
    assert [part["status"] for part in done["tasks"]] == ["done", "fail", "done", "done", "done"]
    assert (done["tasks"][0]["confirmed"], done["tasks"][1]["cause"]) == (True, "ない")
    assert done["report"].startswith(told)
    assert path in done["report"]
    assert done["unconfirmed"][0] == "vault/no.md"
    assert [(deed["sentence"], deed["mark"]) for deed in done["actions"]] == [(report, "done")]


def test_others_see_what_happens_but_not_what_it_is_done_with(busy: House) -> None:
    place, _ = given(busy)
    busy.work()
    sweep_due_items(busy.runtime)
    busy.work()
    whole, public = busy.got(f"{place}/G1"), busy.got(f"{place}/G1", key=busy.read)
    assert whole["tasks"][0]["result"] == "書いた"
    assert public["tasks"][0]["result"] is None
    assert [task["status"] for task in public["tasks"]] == [t["status"] for t in whole["tasks"]]
    assert "notes/ml.md" not in str(public)


def test_the_same_key_is_one_task_and_another_body_a_conflict(busy: House) -> None:
    place, headers = f"/agents/{busy.agent()}/tasks", {"Idempotency-Key": "once"}
    first = busy.made(place, {"instruction": "一つだけ"}, headers=headers)
    again = busy.call("POST", place, {"instruction": "一つだけ"}, headers=headers)
    assert (again.status_code, again.json()["id"]) == (202, first["id"])
    problem(busy.call("POST", place, {"instruction": "two"}, headers=headers), 409)
    assert len(busy.got(place)["items"]) == 1


def test_tasks_are_listed_newest_first_page_by_page(busy: House) -> None:
    place = f"/agents/{busy.agent()}/tasks"
    for text in ("一", "two", "三"):
        busy.made(place, {"instruction": text})
    page = busy.got(f"{place}?limit=2", key=busy.read)
    assert [(task["id"], task["name"]) for task in page["items"]] == [("G3", "三"), ("G2", "two")]
    assert [task["status"] for task in page["items"]] == ["pending", "pending"]
    rest = busy.got(f"{place}?limit=2&cursor={page['next_cursor']}")
    assert [task["status"] for task in rest["items"]] == ["active"]
    assert rest["next_cursor"] is None


def test_the_tenth_task_is_newer_than_the_ninth(busy: House) -> None:
    place = f"/agents/{busy.agent()}/tasks"
    for n in range(1, 11):
        busy.made(place, {"instruction": f"{n}"})
    found = [task["id"] for task in busy.got(place)["items"]]
    assert found == [f"G{n}" for n in range(10, 0, -1)]


def test_a_task_pauses_and_goes_on_where_it_was(busy: House) -> None:
    place, _ = given(busy)
    busy.work()
    paused = busy.made(f"{place}/G1/pause", {"reason": "昼休み"})
    assert (paused["status"], paused["pause_reason"]) == ("paused", "昼休み")
    carried_out(busy)
    assert busy.got(f"{place}/G1")["status"] == "paused"
    assert busy.made(f"{place}/G1/resume", None)["status"] == "active"
    carried_out(busy)
    assert busy.got(f"{place}/G1")["status"] == "completed"
    problem(busy.call("POST", f"{place}/G1/resume"), 409)


def test_a_task_that_is_given_up_stops_and_stays_so(busy: House) -> None:
    place, _ = given(busy)
    busy.work()
    problem(busy.call("POST", f"{place}/G1/discard"), 409)
    busy.made(f"{place}/G1/pause", {})
    assert busy.made(f"{place}/G1/discard", {"reason": "もういい"})["status"] == "abandoned"
    carried_out(busy)
    assert busy.made(f"{place}/G1/cancel", None)["status"] == "abandoned"
    assert busy.got(f"{place}/G1")["completion"] == 0
    problem(busy.call("POST", f"{place}/G1/steer", {"text": "やはり"}), 409)


@pytest.mark.parametrize("text", ["PDFもお願い", "the PDF as well"])
def test_a_running_task_hears_what_it_is_steered_by(busy: House, text: str) -> None:
    place, task = given(busy)
    busy.work()
    busy.made(f"{place}/G1/steer", {"text": text})
    lines = busy.runtime.home.journal.lines(task["session_id"])
    assert text in [line.text for line in lines]


def test_only_whoever_gave_an_instruction_or_an_owner_may_change_it(busy: House) -> None:
    place, task = given(busy)
    for verb in ("cancel", "discard", "pause", "resume", "steer"):
        body = {"text": "no"} if verb == "steer" else None
        problem(busy.call("POST", f"{place}/G1/{verb}", body, key=busy.chat), 404)
    busy.invite(task["session_id"], busy.chat)
    for verb in ("cancel", "discard", "pause", "resume", "steer"):
        body = {"text": "no"} if verb == "steer" else None
        problem(busy.call("POST", f"{place}/G1/{verb}", body, key=busy.chat), 403)
        problem(busy.call("POST", f"{place}/G1/{verb}", body, key=busy.read), 403)
    problem(busy.call("POST", place, {"instruction": "no"}, key=busy.read), 403)
    own, _ = given(busy, key=busy.chat)
    assert busy.made(f"{own}/G1/pause", {}, key=busy.chat)["status"] == "paused"
    assert busy.made(f"{own}/G1/cancel", {})["status"] == "abandoned"


def test_what_is_not_there_is_not_found_and_nonsense_is_refused(busy: House) -> None:
    place = f"/agents/{busy.agent()}/tasks"
    problem(busy.call("GET", f"{place}/G7"), 404)
    problem(busy.call("GET", f"{place}/G7/events"), 404)
    problem(busy.call("GET", f"{place}/nonsense"), 422)
    problem(busy.call("GET", "/agents/nobody/tasks"), 404)
    problem(busy.call("POST", "/agents/nobody/tasks", {"instruction": "x"}), 404)
    for blank in ("", "  \n\u3000"):
        problem(busy.call("POST", place, {"instruction": blank}), 422, "instruction")
    problem(busy.call("POST", place, {"instruction": "x", "budget_usd": -1}), 422, "budget_usd")


@pytest.mark.parametrize("language", WORDS)
def test_a_follower_sees_every_change_until_the_end(busy: House, language: str) -> None:
    place, _ = given(busy, language)
    path = f"{place}/G1/events"
    events = busy.follow(path, 1, until='"over":true', meanwhile=lambda: carried_out(busy))
    shown = [event["data"] for event in events]
    assert {event["event"] for event in events} == {"progress"}
    assert (shown[0]["status"], shown[-1]["status"]) == ("active", "completed")
    assert [task["completion"] for task in shown] == sorted(task["completion"] for task in shown)
    assert shown[-1] == busy.got(f"{place}/G1")
    last = {"Last-Event-ID": events[-1]["id"]}
    assert busy.call("GET", path, headers=last).text == "retry: 1000\n\n"
    assert busy.got(f"{place}/G1", key=busy.read) == busy.follow(path, 1, key=busy.read)[0]["data"]


def test_where_answers_are_not_streamed_each_change_ends_one(busy: House) -> None:
    place, task = given(busy)
    app = create_rest_app(
        busy.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, longest_seconds=20
    )
    streaming, busy.app = busy.app, app
    try:
        answer = busy.call("GET", f"{place}/G1/events")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.count("event: progress") == 1
        assert task["id"] in answer.text
    finally:
        busy.app = streaming
    problem(busy.call("GET", f"{place}/G1/events?seconds=0"), 422, "seconds")


@pytest.mark.parametrize("purpose", ["研究ノートを整える", "To keep the notes in order"])
def test_an_owner_gives_an_agent_its_purpose(busy: House, purpose: str) -> None:
    place = f"/agents/{busy.agent()}/purpose"
    assert busy.got(place, key=busy.read) == {"purpose": ""}
    answer = busy.call("PUT", place, {"purpose": f" {purpose} "})
    assert answer.json() == {"purpose": purpose}
    stale = {"If-Match": '"1"'}
    problem(busy.call("PUT", place, {"purpose": "other"}, headers=stale), 409, "If-Match")
    problem(busy.call("PUT", place, {"purpose": "other"}, key=busy.chat), 403)
    assert busy.got(place) == {"purpose": purpose}
    assert busy.got(place.removesuffix("/purpose"))["purpose"] == purpose


def test_goals_are_shown_with_their_plans(busy: House) -> None:
    place, _ = given(busy)
    goals = place.replace("/tasks", "/goals")
    carried_out(busy)
    goal = busy.got(f"{goals}/G1")
    assert (goal["source"], goal["status"], goal["completion"]) == ("owner", "completed", 80)
    assert [task["postcondition"] for task in goal["tasks"]] == ["1", "2", "3", "4", "5"]
    assert goal["tasks"][0]["result"] == "書いた"
    (public,) = busy.got(goals, key=busy.read)["items"]
    assert public["tasks"][0]["result"] is None
    problem(busy.call("GET", f"{goals}/G2"), 404)


def test_changes_name_the_goal_and_looks_may_name_its_tasks(busy: House) -> None:
    place, _ = given(busy)
    busy.work()
    for verb in ("cancel", "discard", "pause", "resume", "steer"):
        body = {"text": "no"} if verb == "steer" else None
        refused = problem(busy.call("POST", f"{place}/G1-T2/{verb}", body), 422, "task_id")
        assert refused["cure"] == "use the goal, G1"
    assert busy.got(f"{place}/G1-T2")["id"] == "G1"
    for path in ("/G1-T99", "/G1-T99/events"):
        problem(busy.call("GET", f"{place}{path}"), 404)
    assert busy.got(f"{place}/G1")["status"] == "active"
    problem(busy.call("POST", f"{place}/G1/steer", {"text": " "}), 422, "text")


def test_a_task_in_line_names_the_one_in_front(busy: House) -> None:
    place, first = given(busy)
    second = busy.made(place, {"instruction": "その次"})
    front = {"id": "G1", "name": first["name"], "status": "active"}
    assert (first["behind"], second["behind"]) == (None, front)
    ((event, *_),) = [busy.follow(f"{place}/G2/events", 1, key=busy.read)]
    assert event["data"]["behind"] == front
    busy.made(f"{place}/G1/pause", {})
    assert busy.got(f"{place}/G2")["behind"] is None


def test_what_a_task_asks_is_shown_to_those_who_may_decide(busy: House) -> None:
    secret, key = busy.key(Scope.CHAT)
    agent = busy.agent(policy="strict", approvals={"delegates": [key.id]})
    busy.script(step("海を", "ws_write", path="秘密.md", content="x"))
    place = f"/agents/{agent}/tasks"
    session_id = busy.made(place, {"instruction": "海を描いて"})["session_id"]
    for member in (busy.chat, secret):
        busy.invite(session_id, member)
    busy.work()
    for reader in (busy.owner, secret):
        asked = busy.got(f"{place}/G1", key=reader)["approval"]
        assert "秘密.md" in asked["what"]
        assert "秘密.md" in asked["touches"]
    for reader in (busy.chat, busy.read):
        told = busy.got(f"{place}/G1", key=reader)
        assert (told["approval"]["what"], told["approval"]["touches"]) == ("ws_write (self)", "")
        assert "秘密.md" not in str(told)
