"""An agent's views over REST: its state, its history, its vitals and its panes."""

import json

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.engine.insight.vitals import Machine
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.page import NEXT
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House, problem

WORDS = {"ja": ("海のメモを書いて", "書きました"), "en": ("Write about the sea", "Written")}
WRITE = ScriptedCall("ws_write", {"path": "notes/sea.md", "content": "crabs"})


def written(house: House, language: str) -> str:
    """An agent that wrote a file when it was told to."""
    told, said = WORDS[language]
    house.script(ScriptedAnswer("<thinking>…</thinking>", (WRITE,)), ScriptedAnswer(said))
    agent = house.agent(language=language, purpose=told)
    house.say(house.session(agent), told)
    house.work()
    return agent


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_state_is_indented_utf_8_without_a_mark(house: House, language: str) -> None:
    told, said = WORDS[language]
    answer = house.call("GET", f"/agents/{written(house, language)}/state")
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert answer.content == (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()
    assert found["input"] == {"source": "rest", "authority": "owner", "text": told}
    assert found["plan"] == {"purpose": told, "goals": []}
    assert found["result"] == {"status": "done", "summary": said}


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_history_comes_as_json_lines_page_after_page(house: House, language: str) -> None:
    told, said = WORDS[language]
    path = f"/agents/{written(house, language)}/events"
    whole = house.call("GET", path)
    assert whole.headers["content-type"] == "application/x-ndjson"
    lines = whole.text.splitlines(keepends=True)
    shown = [json.loads(line) for line in lines]
    assert all(line.endswith("\n") for line in lines)
    assert [event["type"] for event in shown][-3:] == ["action", "result", "result"]
    assert (shown[0]["text"], shown[-1]["summary"]) == (told, said)
    first = house.call("GET", f"{path}?limit=2")
    rest = house.call("GET", f"{path}?after={first.headers[NEXT]}")
    assert first.text + rest.text == whole.text
    again = house.call("GET", f"{path}?after={rest.headers[NEXT]}")
    assert (again.text, again.headers[NEXT]) == ("", rest.headers[NEXT])


def test_an_agent_without_a_past_has_an_empty_history(house: House) -> None:
    answer = house.call("GET", f"/agents/{house.agent()}/events")
    assert (answer.status_code, answer.text) == (200, "")
    assert NEXT not in answer.headers


@pytest.mark.parametrize("after", ["nonsense", "aGlzdG9yeTo", "aGlzdG9yeTphIGI", "x" * 5_000])
def test_a_cursor_of_nobody_is_refused(shared: House, after: str) -> None:
    problem(shared.call("GET", f"/agents/{shared.agent()}/events?after={after}"), 422, "after")


@pytest.mark.parametrize("view", ["state", "events", "vitals", "panes"])
def test_views_are_the_owners_and_of_agents_that_exist(shared: House, view: str) -> None:
    problem(shared.call("GET", f"/agents/nobody/{view}"), 404)
    path = f"/agents/{shared.agent()}/{view}"
    problem(shared.call("GET", path, key=shared.chat), 403)


def test_vitals_and_panes_tell_of_the_machine_where_there_is_one(house: House) -> None:
    agent = written(house, "ja")
    assert house.got(f"/agents/{agent}/vitals")["machine"] is None
    here = Machine(cpu_percent=12.5)
    house.app = create_rest_app(
        house.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, machine=lambda: here
    )
    panes = house.got(f"/agents/{agent}/panes")["items"]
    assert [list(pane) for pane in panes] == [["pane", "data"]] * 5
    shown = {pane["pane"]: pane["data"] for pane in panes}
    assert list(shown) == ["chat", "cli", "plan", "inspector", "vitals"]
    assert shown["chat"].splitlines()[-1] == "Mika: 書きました"
    assert list(shown["inspector"]) == ["thought", "action", "result"]
    assert shown["vitals"] == house.got(f"/agents/{agent}/vitals")
    assert shown["vitals"]["machine"]["cpu_percent"] == 12.5
