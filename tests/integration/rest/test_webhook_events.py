"""Subscriptions to events over REST: owners add, try, rotate and remove them; secrets once."""

from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.webhooks.subscription import TEST_EVENT
from tests.integration.rest.house import House, problem
from tests.unit.adapters.web.net import Net, moved, reply

URL = "https://hooks.example.org/crab"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("told"))
    yield house
    house.close()


def add(house: House, name: str, **fields: Any) -> Any:
    body = {"name": name, "url": URL, "events": ["turn.completed", "turn.failed"], **fields}
    return house.made("/webhook-events", body)


def test_a_secret_is_shown_once(told: House, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    agent_id = told.agent("蟹")
    made = add(told, "ops", agent_id=agent_id)
    assert made["secret"].startswith("whsec_")
    assert (made["url"], made["agent_id"]) == (URL, agent_id)
    (listed,) = [each for each in told.got("/webhook-events")["items"] if each["name"] == "ops"]
    assert listed["events"] == ["turn.completed", "turn.failed"]
    assert (listed["problem"], listed["failed"]) == ("", 0)
    assert made["secret"] not in told.call("GET", "/webhook-events").text
    rotated = told.made("/webhook-events/ops/rotate", {"hours": 1})
    assert rotated["secret"] not in {made["secret"], None}
    assert made["secret"] not in caplog.text
    body = {"name": "again", "url": URL, "events": ["goal.finished"]}
    once = {"Idempotency-Key": "k1"}
    first = told.call("POST", "/webhook-events", body, headers=once)
    second = told.call("POST", "/webhook-events", body, headers=once)
    assert first.json()["secret"]
    assert second.json()["secret"] is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "http://hooks.example.org/"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://me@example.org/"}, "url"),
        ({"url": "https://localhost/"}, "url"),
        ({"url": "https://例え.jp/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["turn.began"]}, "events"),
        ({"name": "Ops 🦀"}, "name"),
    ],
)
def test_what_cannot_be_told_is_refused(told: House, fields: dict[str, Any], field: str) -> None:
    body = {"name": "bad", "url": URL, "events": ["turn.failed"], **fields}
    answer = told.call("POST", "/webhook-events", body)
    assert answer.status_code == 422
    assert field in answer.text


def test_a_trial_says_what_the_receiver_answers(told: House) -> None:
    made = add(told, "trial")
    answers = [reply(status=204), reply(status=503), moved("https://elsewhere.example.org/")]
    net = Net(lambda url: answers.pop(0))
    told.furnish(signed_post=net.posts(FakeClock(told.runtime.clock.now())))
    assert told.made("/webhook-events/trial/test", None) == {"name": "trial"}
    assert TEST_EVENT in net.requests[0]
    assert made["secret"] not in net.requests[0]
    busy = told.call("POST", "/webhook-events/trial/test")
    assert busy.status_code == 503
    assert "status 503" in busy.text
    assert "redirects" in told.call("POST", "/webhook-events/trial/test").text
    problem(told.call("POST", "/webhook-events/nobody/test"), 404)


def test_one_that_was_removed_is_gone(told: House) -> None:
    agent_id = told.agent("蟹")
    add(told, "short", agent_id=agent_id)
    assert "short" in told.runtime.home.agents.get(agent_id).mind.reported
    assert told.call("DELETE", "/webhook-events/short").status_code == 204
    assert "short" not in told.runtime.home.agents.get(agent_id).mind.reported
    problem(told.call("DELETE", "/webhook-events/short"), 404)
    problem(told.call("POST", "/webhook-events/short/rotate", {"hours": 1}), 404)


def test_a_name_is_taken_once(told: House) -> None:
    add(told, "taken")
    body = {"name": "taken", "url": URL, "events": ["turn.failed"]}
    problem(told.call("POST", "/webhook-events", body), 409)
    nobody = {**body, "name": "other", "agent_id": "nobody"}
    problem(told.call("POST", "/webhook-events", nobody), 404)
