"""Schedules over REST: written by owners, read by all, refused with the field and the cure."""

from typing import Any

import pytest

from tests.integration.rest.house import House, problem

DRAFT = {
    "name": "朝の挨拶",
    "when": "0 9 * * 1-5",
    "zone": "Asia/Tokyo",
    "instructions": "挨拶する",
    "channel": {"kind": "webhook", "address": "https://example.com/secret", "awaited": False},
}


@pytest.fixture
def place(shared: House) -> str:
    """Where the schedules of a new agent are."""
    return f"/agents/{shared.agent()}/schedules"


def test_a_schedule_is_made_once_listed_replaced_and_deleted(shared: House, place: str) -> None:
    sent = {"headers": {"Idempotency-Key": place[-40:-10]}}
    made = shared.made(place, DRAFT, **sent)
    assert shared.made(place, DRAFT, **sent) == made
    assert made["next_at"].endswith("T00:00:00Z")
    assert (made["version"], made["fired"], made["why_off"]) == (1, 0, None)
    shared.made(place, {**DRAFT, "when": "@every 2h"})
    first = shared.got(f"{place}?limit=1")
    rest = shared.got(f"{place}?cursor={first['next_cursor']}", key=shared.read)
    assert [each["when"] for each in (*first["items"], *rest["items"])] == [
        "0 9 * * 1-5",
        "@every 2h",
    ]
    assert (first["items"][0]["channel"], rest["items"][0]["channel"]) == (DRAFT["channel"], None)
    path = f"{place}/{made['id']}"
    seen = shared.call("GET", path)
    off = {**DRAFT, "enabled": False}
    put = shared.call("PUT", path, off, headers={"If-Match": seen.headers["etag"]})
    assert (put.json()["next_at"], put.headers["etag"]) == (None, '"2"')
    stale = shared.call("PUT", path, DRAFT, headers={"If-Match": '"1"'})
    assert problem(stale, 409)["field"] == "If-Match"
    assert shared.call("DELETE", path).json() == put.json()
    problem(shared.call("GET", path), 404)
    problem(shared.call("GET", f"{place}?cursor={first['next_cursor']}x"), 422)


def test_a_schedule_is_run_at_once_and_the_same_key_answers_the_same_turn(
    shared: House, place: str
) -> None:
    path = f"{place}/{shared.made(place, {**DRAFT, 'channel': None})['id']}"
    sent = {"headers": {"Idempotency-Key": "now"}}
    begun = shared.call("POST", f"{path}/run", **sent)
    assert begun.status_code == 202
    assert shared.made(f"{path}/run", None, **sent) == begun.json()
    (turn_id,) = begun.json()["turn_ids"]
    shared.work()
    story = shared.got(f"/turns/{turn_id}")
    assert (story["trigger"], story["authority"]) == ("schedule", "self")
    assert shared.got(path)["last_turn_id"] == turn_id


@pytest.mark.parametrize(
    ("changes", "field", "cure"),
    [
        ({"when": "0 0 31 2 *"}, "when", "write @every 5m"),
        ({"when": "@every 30s"}, "when", "write @every 5m"),
        ({"when": "0 9 * *"}, "when", "0 9 * * 1-5"),
        ({"zone": "Asia/Edo"}, "zone", ""),
        ({"instructions": ""}, "instructions", "write something"),
        ({"name": None}, "name", "send a text"),
        ({"session_id": "elsewhere"}, "session_id", "omit"),
        ({"every": "5m"}, "every", "remove it"),
    ],
)
def test_what_cannot_be_is_refused_with_the_field_and_the_cure(
    shared: House, place: str, changes: dict[str, Any], field: str, cure: str
) -> None:
    found = problem(shared.call("POST", place, {**DRAFT, **changes}), 422)
    assert found["field"] == field
    assert cure in found["cure"]
    assert shared.got(place)["items"] == []
