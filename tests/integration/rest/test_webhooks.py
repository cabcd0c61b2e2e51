"""Webhooks over REST: added, tried, rotated and removed by owners; a secret is said once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.engine.webhooks.curation import MOST_WEBHOOKS
from tests.integration.rest.house import House, problem
from tests.integration.rest.test_webhook_door import BODY, opened, post
from tests.unit.gateways.door.visiting import hub_signed, signed


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    opened(made)
    yield made
    made.close()


def add(house: House, name: str = "ci", **fields: Any) -> Any:
    agent_id = fields.pop("agent_id", None) or house.agent("蟹")
    return house.made("/webhooks", {"name": name, "agent_id": agent_id, **fields})


def now(house: House) -> float:
    return house.runtime.clock.now().timestamp()


def status(house: House, name: str, headers: dict[str, str]) -> int:
    return post(house, f"/webhooks/{name}", BODY, headers).status_code


def test_each_scheme_gets_a_secret_that_its_sender_can_use(house: House) -> None:
    standard = add(house)
    assert standard["path"] == "/webhooks/ci"
    assert standard["secret"].startswith("whsec_")
    headers = signed(BODY, at=now(house), secrets=(standard["secret"],))
    assert status(house, "ci", headers) == 202
    hub = add(house, "hub", scheme="github")
    assert status(house, "hub", hub_signed(BODY, hub["secret"])) == 202
    game = add(house, "game", scheme="bearer")
    assert status(house, "game", {"authorization": f"Bearer {game['secret']}"}) == 202
    assert len({standard["secret"], hub["secret"], game["secret"]}) == 3


def test_a_secret_is_said_once_and_kept_nowhere_else(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    agent_id = house.agent("蟹")
    body = {"name": "game", "agent_id": agent_id, "scheme": "bearer"}
    repeat = {"Idempotency-Key": "once"}
    secret = house.made("/webhooks", body, headers=repeat)["secret"]
    again = house.call("POST", "/webhooks", body, headers=repeat)
    assert (again.status_code, again.json()["secret"]) == (201, None)
    assert secret not in house.call("GET", "/webhooks").text
    assert secret not in caplog.text
    # Of a sender that brings its secret only a hash is stored.
    stored = b"".join(each.read_bytes() for each in house.folder.rglob("*") if each.is_file())
    assert secret.encode() not in stored


def test_what_was_added_is_listed(house: House) -> None:
    add(house, "b", session="{{ room }}", template="{{ text }}", reply_to="discord:42")
    add(house, "a", authority="user")
    first, second = house.got("/webhooks")["items"]
    assert (first["name"], first["authority"], first["scheme"]) == ("a", "user", "standard")
    assert (second["session"], second["template"]) == ("{{ room }}", "{{ text }}")
    assert second["reply_to"] == "discord:42"
    assert "secret" not in first
    # Nobody would send answers there.
    assert "Discord is disabled" in second["reply_problem"]
    assert first["reply_problem"] == ""
    house.furnish(channels={"discord": None})
    assert house.got("/webhooks")["items"][1]["reply_problem"] == ""


def test_a_made_up_body_is_told_like_a_real_one(house: House) -> None:
    add(house, template="{{ text }}!")
    told = house.made("/webhooks/ci/test", {"body": {"text": "試し"}})
    assert told["text"] == "試し!"
    house.work()
    assert house.got(f"/turns/{told['turn_id']}")["status"] == "completed"
    repeat = {"Idempotency-Key": "once"}
    both = [house.made("/webhooks/ci/test", {"body": 1}, headers=repeat) for _ in range(2)]
    assert both[0] == both[1]


def test_an_earlier_secret_counts_for_some_hours_or_not_at_all(house: House) -> None:
    old = add(house)["secret"]
    new = house.made("/webhooks/ci/rotate", {})
    assert new["previous_until"] > now(house) + 23 * 3_600
    for number, secret in enumerate((old, new["secret"])):
        headers = signed(BODY, at=now(house), secrets=(secret,), event_id=f"m{number}")
        assert status(house, "ci", headers) == 202
    house.made("/webhooks/ci/rotate", {})
    assert status(house, "ci", signed(BODY, at=now(house), secrets=(old,), event_id="two")) == 202
    newest = house.made("/webhooks/ci/rotate", {"hours": 0})["secret"]
    for secret, expected in ((old, 401), (new["secret"], 401), (newest, 202)):
        headers = signed(BODY, at=now(house), secrets=(secret,), event_id=f"n{expected}")
        assert status(house, "ci", headers) == expected


def test_rotating_again_leaves_the_sender_the_secret_that_it_still_has(house: House) -> None:
    old = add(house)["secret"]
    lost = [house.made("/webhooks/ci/rotate", {})["secret"] for _ in range(9)]
    for number, (secret, expected) in enumerate(
        ((lost[-1], 202), (lost[-5], 202), (lost[-6], 401), (old, 401))
    ):
        headers = signed(BODY, at=now(house), secrets=(secret,), event_id=f"m{number}")
        assert status(house, "ci", headers) == expected


def test_a_removed_webhook_refuses_and_what_it_had_queued_is_kept_with_the_reason(
    house: House,
) -> None:
    secret = add(house)["secret"]
    assert status(house, "ci", signed(BODY, at=now(house), secrets=(secret,))) == 202
    assert house.call("DELETE", "/webhooks/ci").status_code == 204
    later = signed(BODY, at=now(house), secrets=(secret,), event_id="m2")
    assert status(house, "ci", later) == 401
    queue = house.runtime.home.interactions
    assert queue is not None
    found = queue.receive(visibility_seconds=60, wait_seconds=0)
    assert found is not None
    handle_queued_interaction(house.runtime, found)
    ((_, reason),) = queue.list_dead_letters(5)
    assert "no webhook 'ci'" in reason
    assert problem(house.call("DELETE", "/webhooks/ci"), 404)


@pytest.mark.parametrize(
    ("fields", "expected", "word"),
    [
        ({"name": "CI"}, 422, "name"),
        ({"name": "a/b"}, 422, "name"),
        ({"authority": "self"}, 422, "authority"),
        ({"reply_to": "http://example.org"}, 422, "reply_to"),
        ({"reply_to": "https://127.0.0.1/x"}, 422, "public internet"),
        ({"reply_to": "https://localhost/x"}, 422, "public internet"),
        ({"reply_to": "https://me:word@example.org/x"}, 422, "public internet"),
        ({"reply_to": "https://example.org:8443/x"}, 422, "public internet"),
        ({"scheme": "none"}, 422, "scheme"),
        ({"agent_id": "nobody"}, 404, "nobody"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    house: House, fields: dict[str, str], expected: int, word: str
) -> None:
    body = {"name": "ci", "agent_id": house.agent("蟹"), **fields}
    answer = house.call("POST", "/webhooks", body)
    assert answer.status_code == expected
    assert word in answer.text
    assert house.got("/webhooks")["items"] == []


def test_names_are_taken_once_and_there_is_an_end_to_them(house: House) -> None:
    agent_id = house.agent("蟹")
    add(house, agent_id=agent_id)
    answer = house.call("POST", "/webhooks", {"name": "ci", "agent_id": agent_id})
    assert answer.status_code == 409
    for number in range(MOST_WEBHOOKS - 1):
        add(house, f"n{number}", agent_id=agent_id)
    full = house.call("POST", "/webhooks", {"name": "one-more", "agent_id": agent_id})
    assert (full.status_code, str(MOST_WEBHOOKS) in full.text) == (403, True)


def test_whoever_is_not_the_owner_learns_nothing(house: House) -> None:
    add(house)
    for key in (house.chat, house.read):
        assert house.call("GET", "/webhooks", key=key).status_code == 403
        assert house.call("POST", "/webhooks/ci/rotate", {}, key=key).status_code == 403
