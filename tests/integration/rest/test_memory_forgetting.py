"""Forgetting over REST: confirmed, said with what is left, and only by the owner."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from tests.integration.rest.house import House, problem
from tests.integration.rest.remembering import remembering, texts
from tests.integration.rest.test_openai import ask

SECRET = "美香の誕生日は三月三日です。"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation that finds things again."""
    with remembering(tmp_path) as house:
        yield house


def told(house: House, agent: str, text: str = SECRET) -> str:
    """A session in which this was said and answered."""
    session = house.session(agent)
    house.script(ScriptedAnswer(text="わかりました。"))
    house.say(session, text)
    house.work()
    return session


def place(agent: str, part: str = "") -> str:
    return f"/agents/{agent}/memory/forget{part}"


def test_a_session_is_forgotten_after_a_look_at_what_goes(house: House) -> None:
    agent = house.agent()
    session = told(house, agent)
    other = told(house, agent, "四条通りは賑やかです。")
    assert SECRET in texts(house, agent, "誕生日")
    wish = {"scope": "session", "id": session}
    seen = house.made(place(agent, "/preview"), wish)
    assert (seen["lines"], seen["turns"]) == (2, 1)
    assert SECRET in house.lines(session)
    report = house.made(place(agent), wish)
    assert (report["done"], report["left"], report["lines"]) == (True, 0, 2)
    assert texts(house, agent, "誕生日") == []
    assert SECRET not in house.lines(session)
    assert house.lines(other)[0] == "四条通りは賑やかです。"
    assert house.made(place(agent), wish)["done"] is True


def test_a_repeated_request_does_not_bring_back_the_words_of_a_forgotten_session(
    house: House,
) -> None:
    agent, repeat = house.agent(), {"Idempotency-Key": "k1"}
    body = {"participants": [agent], "theme": SECRET}
    session = house.made("/sessions", body, headers=repeat)["id"]
    assert house.call("POST", "/sessions", body, headers=repeat).json()["theme"] == SECRET
    house.script(ScriptedAnswer(text="わかりました。"))
    house.say(session, SECRET)
    house.work()
    assert house.made(place(agent), {"scope": "session", "id": session})["done"] is True
    assert SECRET not in house.call("POST", "/sessions", body, headers=repeat).text


def test_a_memory_is_forgotten(house: House) -> None:
    agent = house.agent()
    curated = f"/agents/{agent}/memory/curated"
    memory_id = house.made(curated, {"content": SECRET})["memory"]["id"]
    report = house.made(place(agent), {"scope": "memory", "id": memory_id})
    assert report["done"] is True
    assert report["removed"] == [f"{agent}/memory:{memory_id}"]
    assert texts(house, agent, "誕生日") == []
    problem(house.call("GET", f"{curated}/{memory_id}"), 404)


def test_everything_is_forgotten_only_by_who_names_the_agent(house: House) -> None:
    agent = house.agent()
    told(house, agent)
    problem(house.call("POST", place(agent), {"scope": "everything"}), 422, "confirm")
    wrong = {"scope": "everything", "confirm": "another"}
    problem(house.call("POST", place(agent), wrong), 422, "confirm")
    assert SECRET in texts(house, agent, "誕生日")
    assert house.made(place(agent, "/preview"), {"scope": "everything"})["lines"] == 2
    assert house.made(place(agent), {"scope": "everything", "confirm": agent})["done"] is True
    assert texts(house, agent, "誕生日") == []


@pytest.mark.parametrize("part", ["", "/preview"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "scope"),
        ({"scope": "world"}, "scope"),
        ({"scope": "memory"}, None),
        ({"scope": "memory", "id": "a b"}, "id"),
        ({"scope": "session", "id": "x" * 65}, "id"),
        ({"scope": "person", "id": ""}, "id"),
        ({"scope": "period"}, None),
        ({"scope": "period", "since": "2026-01-01"}, "since"),
        ({"scope": "period", "since": "2026-01-01T00:00:00"}, "since"),
        (
            {
                "scope": "period",
                "since": "2026-01-02T00:00:00Z",
                "until": "2026-01-01T00:00:00Z",
            },
            None,
        ),
        ({"scope": "everything", "id": "x"}, None),
        ({"scope": "person", "id": "x", "since": "2026-01-01T00:00:00Z"}, None),
        ({"scope": "person", "id": "x", "name": "y"}, "name"),
    ],
)
def test_a_wish_that_makes_no_sense_forgets_nothing(
    house: House, part: str, body: dict[str, Any], field: str | None
) -> None:
    agent = house.agent()
    session = house.session(agent)
    house.say(session, SECRET)
    assert problem(house.call("POST", place(agent, part), body), 422, field)["cure"]
    assert house.lines(session) == [SECRET]


def test_what_is_another_agents_is_not_there_to_be_forgotten(house: House) -> None:
    agent, other = house.agent(), house.agent("Ada")
    session = told(house, agent)
    memory_id = house.made(f"/agents/{agent}/memory/curated", {"content": SECRET})["memory"]["id"]
    for part in ("", "/preview"):
        for scope, name in (("session", session), ("memory", memory_id)):
            problem(house.call("POST", place(other, part), {"scope": scope, "id": name}), 404)
        problem(house.call("POST", place("nobody", part), {"scope": "person", "id": "x"}), 404)
    house.made(place(other), {"scope": "everything", "confirm": other})
    assert texts(house, agent, "誕生日").count(SECRET) == 2


def test_only_owners_let_an_agent_forget(house: House) -> None:
    agent = house.agent()
    for key in (house.read, house.chat):
        for part in ("", "/preview"):
            problem(house.call("POST", place(agent, part), {"scope": "everything"}, key=key), 403)


def test_what_a_running_turn_would_write_again_is_not_forgotten_yet(house: House) -> None:
    agent = house.agent()
    session = house.session(agent)
    house.say(session, SECRET)
    found = problem(house.call("POST", place(agent), {"scope": "session", "id": session}), 409)
    assert "not ended" in found["detail"]
    house.work()
    assert house.made(place(agent), {"scope": "session", "id": session})["done"] is True


@pytest.mark.parametrize("scope", ["session", "person"])
@pytest.mark.parametrize(
    ("secret", "then"),
    [(SECRET, "それはいつ？"), ("My sister moved to Sapporo in the spring.", "Where to?")],
)
def test_what_a_response_quoted_is_forgotten_with_its_source(
    house: House, scope: str, secret: str, then: str
) -> None:
    agent = house.agent()

    def respond(said: str, key: str, **more: Any) -> dict[str, Any]:
        body = {"model": agent, "input": said, "background": True, **more}
        answer = ask(house, "/v1/responses", body, Authorization=f"Bearer {key}")
        assert answer.status_code == 200, answer.text
        house.script(ScriptedAnswer(text="わかりました。"))
        house.work()
        return {**answer.json(), "session": answer.headers["X-OpenCrab-Session"]}

    first = respond(secret, house.chat)
    branch = respond(then, house.owner, previous_response_id=first["id"])
    assert secret in house.lines(branch["session"])[0]
    speaker = house.got(f"/sessions/{first['session']}/messages")["items"][0]["speaker_id"]
    wish = {"scope": scope, "id": first["session"] if scope == "session" else speaker}
    assert house.made(place(agent), wish)["done"]
    assert not any(secret in line for line in house.lines(branch["session"]))
    assert not any(secret in line for line in house.lines(first["session"]))
    # What is left of it cannot be quoted again.
    later = respond("?", house.owner, previous_response_id=first["id"])
    assert not any(secret in line for line in house.lines(later["session"]))
