"""Repeated requests over REST: one Idempotency-Key, one effect, one answer."""

from typing import Any

import pytest
from httpx import Response

from opencrab.domain.access.authority import Scope
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings
from opencrab.gateways.rest.local_parts import offer_installation_machine_checks
from tests.integration.rest.house import House, problem

KEY = {"Idempotency-Key": "same-key-1"}


def count(house: House, path: str) -> int:
    """How many there are."""
    return len(house.got(f"{path}?limit=200")["items"])


@pytest.mark.parametrize("name", ["美香", "Ken"])
def test_an_agent_asked_for_twice_is_made_once(house: House, name: str) -> None:
    first = house.call("POST", "/agents", {"name": name}, headers=KEY)
    again = house.call("POST", "/agents", {"name": name}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert count(house, "/agents") == 1


def test_every_post_answers_a_repeat_as_it_answered_first(house: House) -> None:
    agent_id = house.agent(policy="strict")
    session_id = house.session(agent_id)
    (stopped,) = house.say(house.session(agent_id), "hello")
    (waiting,) = house.say(house.session(agent_id), "list files")
    house.made(f"/turns/{stopped}/cancel", {})
    house.work()
    posts: list[tuple[str, Any]] = [
        ("/agents", {"name": "カニ"}),
        ("/sessions", {"participants": [agent_id], "theme": "海"}),
        (f"/sessions/{session_id}/mentor", {"text": "be brief"}),
        (f"/turns/{stopped}/cancel", {"reason": "遅い"}),
        (f"/turns/{waiting}/decide", {"approved": True}),
        (f"/sessions/{session_id}/end", None),
    ]
    for path, body in posts:
        first, again = (house.call("POST", path, body, headers=KEY) for _ in range(2))
        assert first.status_code in {200, 201}, first.text
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("/agents", {"name": "美香"}, {"name": "美佳"}),
        ("/keys", {"name": "a"}, {"name": "a", "scope": "read"}),
    ],
)
def test_the_same_key_with_another_body_is_a_conflict(
    house: House, path: str, one: Any, other: Any
) -> None:
    house.made(path, one, headers=KEY)
    before = count(house, path)
    answer = house.call("POST", path, other, headers=KEY)
    found = problem(answer, 409, "Idempotency-Key")
    assert found["cure"] == "use a new key for a new request"
    assert count(house, path) == before


def test_the_same_key_with_another_message_is_a_conflict(house: House) -> None:
    session_id = house.session()
    house.say(session_id, "こんにちは", headers=KEY)
    place = f"/sessions/{session_id}/messages"
    problem(house.call("POST", place, {"text": "さようなら"}, headers=KEY), 409)
    assert house.lines(session_id) == ["こんにちは"]


def test_a_key_belongs_to_one_caller_and_one_session(house: House) -> None:
    session_id, other = house.session(), house.session()
    turns = [
        house.say(session_id, "hi", headers=KEY),
        house.say(session_id, "hi", headers=KEY, key=house.chat),
        house.say(other, "hi", headers=KEY),
    ]
    assert len({turn for (turn,) in turns}) == 3
    second, _ = house.key(Scope.OWNER)
    made = [
        house.made("/agents", {"name": "x"}, headers=KEY, key=key)["id"]
        for key in (house.owner, second)
    ]
    assert made[0] != made[1]


@pytest.mark.parametrize("key", ["", "has space", "a" * 201, "鍵", "tab\there"])
def test_a_key_is_up_to_two_hundred_visible_characters(house: House, key: str) -> None:
    answer = house.call("POST", "/agents", {"name": "x"}, headers={"Idempotency-Key": key})
    problem(answer, 422, "Idempotency-Key")
    assert count(house, "/agents") == 0
    fine = {"Idempotency-Key": "~!" * 100}
    assert house.call("POST", "/agents", {"name": "x"}, headers=fine).status_code == 201


def test_a_refused_request_may_be_corrected_under_the_same_key(house: House) -> None:
    problem(house.call("POST", "/agents", {"nom": "x"}, headers=KEY), 422)
    assert house.call("POST", "/agents", {"name": "x"}, headers=KEY).status_code == 201


def test_a_new_secret_is_shown_in_the_first_answer_only(house: House) -> None:
    first = house.made("/keys", {"name": "端末", "scope": "read"}, headers=KEY)
    again = house.made("/keys", {"name": "端末", "scope": "read"}, headers=KEY)
    assert first["secret"].startswith("oc_")
    assert again == {**first, "secret": None}
    assert house.call("GET", "/agents", key=first["secret"]).status_code == 200


@pytest.mark.parametrize("second", ["same-key-1", "other-key-2", ""])
def test_two_idempotency_keys_are_refused_and_nothing_is_done(house: House, second: str) -> None:
    headers = {**KEY, "idempotency-key": second}
    answer = house.call("POST", "/agents", {"name": "美香"}, headers=headers)
    found = problem(answer, 422, "Idempotency-Key")
    assert found["detail"] == "the Idempotency-Key header is sent more than once"
    assert found["cure"] == "send it once"
    assert count(house, "/agents") == 0


def test_checks_that_are_paid_for_refuse_a_repeat_while_they_run(house: House) -> None:
    body, repeats = {"ask_models": True}, list[Response]()

    def looks(_findings: Findings) -> tuple[Check, ...]:
        repeats.append(house.call("POST", "/system/checks", body, headers=KEY))
        return ()

    offer_installation_machine_checks(house.app, looks)
    assert house.call("POST", "/system/checks", body, headers=KEY).status_code == 200
    (refused,) = repeats
    assert problem(refused, 409, "Idempotency-Key")["cure"].endswith("paid for again")
