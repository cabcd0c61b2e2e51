"""Feedback over REST: thumbs and remarks on a turn, from keys that may talk."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.memory.memory import Experience
from tests.integration.rest.house import House


@pytest.fixture
def turn(shared: House) -> str:
    """A turn that has ended, started by the key that may talk."""
    (turn_id,) = shared.say(shared.session(), "こんにちは", key=shared.chat)
    shared.work()
    return turn_id


@pytest.mark.parametrize("remark", ["わかりやすい", "clear and short"])
def test_a_key_that_may_talk_says_what_it_thinks_once(
    shared: House, turn: str, remark: str
) -> None:
    body = {"thumbs": "up", "remark": remark}
    sent = {"key": shared.chat, "headers": {"Idempotency-Key": remark.encode().hex()}}
    first = shared.call("POST", f"/turns/{turn}/feedback", body, **sent)
    assert first.status_code == 201, first.text
    view = first.json()
    assert (view["turn_id"], view["thumbs"], view["lesson"]) == (turn, "up", remark)
    again = shared.call("POST", f"/turns/{turn}/feedback", body, **sent)
    assert (again.status_code, again.json()) == (201, view)

    agent_id = shared.got(f"/turns/{turn}")["agent_id"]
    (fact,) = shared.runtime.home.facts.page(agent_id, "experience")
    kept = fact.read(Experience)
    assert (kept.id, kept.lesson, kept.about_turn) == (view["id"], remark, turn)
    other = shared.call("POST", f"/turns/{turn}/feedback", {"thumbs": "down"}, **sent)
    assert other.status_code == 409


def test_a_key_that_may_talk_judges_only_where_it_had_a_part(shared: House) -> None:
    owners, opened = shared.session(), shared.session(key=shared.chat)
    other, _ = shared.key(Scope.CHAT)
    turns = [shared.say(each, "こんにちは")[0] for each in (owners, opened)]
    shared.work()
    asked = [(turn, key) for turn in turns for key in (shared.owner, shared.chat, other)]
    codes = [
        shared.call("POST", f"/turns/{turn}/feedback", {"thumbs": "down"}, key=key).status_code
        for turn, key in asked
    ]
    assert codes == [201, 403, 404, 201, 201, 404]
    kept = [
        fact.read(Experience)
        for turn in turns
        for fact in shared.runtime.home.facts.page(
            shared.got(f"/turns/{turn}")["agent_id"], "experience"
        )
    ]
    assert [each.by_owner for each in sorted(kept, key=lambda each: each.at)] == [True, True, False]


def test_a_key_that_may_only_read_says_nothing(shared: House, turn: str) -> None:
    answer = shared.call("POST", f"/turns/{turn}/feedback", {"thumbs": "up"}, key=shared.read)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"thumbs": "sideways"}, 422),
        ({"thumbs": "up", "remark": "x" * 2_001}, 422),
        ({"thumbs": "up", "stars": 5}, 422),
        ({"thumbs": None, "remark": " "}, 422),
        ({"remark": "良い"}, 201),
        ({"thumbs": "down"}, 201),
    ],
)
def test_feedback_says_something_that_is_understood(
    shared: House, turn: str, body: dict[str, object], status: int
) -> None:
    assert shared.call("POST", f"/turns/{turn}/feedback", body).status_code == status


def test_there_is_a_turn_and_it_has_ended(shared: House) -> None:
    assert shared.call("POST", "/turns/none/feedback", {"thumbs": "up"}).status_code == 404
    (turn_id,) = shared.say(shared.session(), "待って")
    early = shared.call("POST", f"/turns/{turn_id}/feedback", {"thumbs": "up"})
    assert early.status_code == 409
    assert "has not ended" in early.json()["detail"]
    shared.work()
