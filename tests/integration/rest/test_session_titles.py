"""Titles of sessions: of the first message, for those who may read it, until somebody gives one."""

import pytest

from opencrab.domain.access.authority import Scope
from tests.integration.rest.house import House, problem


def titles(house: House, key: str | None = None, query: str = "") -> dict[str, str]:
    sent = {} if key is None else {"key": key}
    items = house.got(f"/sessions?limit=200{query}", **sent)["items"]
    return {item["id"]: item["title"] for item in items}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("来週の計画を立ててください。会議が3つあります。", "来週の計画を立ててください"),
        ("Please plan my whole week. I have meetings.", "Please plan my whole week."),
    ],
)
def test_the_first_message_is_the_title_for_its_readers(
    house: House, text: str, title: str
) -> None:
    session_id = house.session()
    assert house.got(f"/sessions/{session_id}")["title"] == ""
    house.call("POST", f"/sessions/{session_id}/mentor", {"text": "secret guidance"})
    house.say(session_id, text)
    house.say(session_id, "something else")
    stranger, _ = house.key(Scope.CHAT)
    assert house.got(f"/sessions/{session_id}")["title"] == title
    assert titles(house)[session_id] == titles(house, house.chat)[session_id] == title
    assert session_id not in titles(house, stranger)


def test_a_title_is_given_and_taken_back_by_who_opened_it(house: House) -> None:
    agent = house.agent()
    key, _ = house.key(Scope.CHAT)
    session_id = house.made("/sessions", {"participants": [agent]}, key=key)["id"]
    house.say(session_id, "Hello there", key=key)
    house.invite(session_id, house.chat)
    place = f"/sessions/{session_id}"
    before = house.got(place)
    named = house.call("PATCH", place, {"name": "旅行"}, key=key).json()
    assert (named["title"], named["name"]) == ("旅行", "旅行")
    assert named["updated_at"] == before["updated_at"]
    problem(house.call("PATCH", place, {"name": "mine"}, key=house.chat), 403)
    problem(house.call("PATCH", place, {"name": "mine"}, key=house.key(Scope.CHAT)[0]), 404)
    problem(house.call("PATCH", place, {"name": "two\nlines"}), 422, "name")
    problem(house.call("PATCH", place, {}), 422, "name")
    assert house.call("PATCH", place, {"name": None}).json()["title"] == "Hello there"


def test_a_list_is_of_one_agent_and_of_what_the_caller_opened(house: House) -> None:
    mika, ken = house.agent("美香"), house.agent("Ken")
    with_mika, with_ken = house.session(mika), house.session(ken, mika)
    alone = house.made("/sessions", {"participants": [ken]}, key=house.chat)["id"]
    assert set(titles(house, query=f"&agent_id={mika}")) == {with_mika, with_ken}
    assert set(titles(house, house.chat, f"&agent_id={ken}&mine=true")) == {alone}
    assert set(titles(house, query="&mine=true")) == {with_mika, with_ken}
