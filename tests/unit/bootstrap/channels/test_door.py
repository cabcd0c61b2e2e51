"""The door for signed requests put together: in Lambda, and in one's own process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.channels.door import channel_door_from_environment
from opencrab.bootstrap.channels.own_door import build_channel_door
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.document import Document
from opencrab.domain.errors import Invalid
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.door import (
    api_gateway_result_of_signed_request,
    signed_request_of_api_gateway,
)
from opencrab.gateways.door.request import SignedRequest, parse_queued_event
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.crash.outside import Bell, Provider, registry
from tests.unit.adapters.listening import Heard, Listening, answer, listening
from tests.unit.gateways.door.visiting import TOKEN, bearer, said, signed, standard

BODY = '{"text":"蟹"}'.encode()
EPOCH = NOW.timestamp()


def outside(heard: Heard) -> bytes:
    """SQS and DynamoDB, in one place."""
    if not heard.headers["x-amz-target"].endswith(".GetItem"):
        return answer(200, b"{}")
    key = json.loads(heard.body)["Key"]
    assert key["pk"] == {"S": "FACT#webhooks"}  # all that the function's role lets it read
    known = {"ci": standard(), "game": bearer()}.get(key["sk"]["S"].removeprefix("webhook#"))
    item = {"Item": {"body": {"S": json.dumps(known)}}} if known else {}
    return answer(200, json.dumps(item).encode())


@pytest.fixture
def server() -> Iterator[Listening]:
    with listening(outside) as made:
        yield made


def environment(server: Listening, **changes: str) -> dict[str, str]:
    """What the template and Lambda set."""
    return {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "ASIA",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
        "AWS_ENDPOINT_URL": server.url,
        "OPENCRAB_CHANNELS": "webhook",
        "OPENCRAB_AWS__SECRETS": "ssm:/opencrab/dev/",
        "OPENCRAB_AWS__INTERACTIONS_QUEUE": "https://sqs.eu-central-1.amazonaws.com/1/i.fifo",
        "OPENCRAB_AWS__TABLE": "opencrab-test",
        **changes,
    }


def on_lambda(server: Listening, name: str, headers: dict[str, str]) -> dict[str, Any]:
    door = channel_door_from_environment(environment(server), lambda: EPOCH)
    event = {"headers": headers, "pathParameters": {"name": name}, "body": BODY.decode()}
    return api_gateway_result_of_signed_request(
        door.answer(signed_request_of_api_gateway(event, EPOCH))
    )


def test_in_lambda_a_request_costs_one_read_and_one_message(server: Listening) -> None:
    assert on_lambda(server, "ci", signed(BODY, at=EPOCH))["statusCode"] == 202
    read, sent = server.heard
    assert read.headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    told = json.loads(sent.body)
    assert told["QueueUrl"].endswith("/i.fifo")
    assert parse_queued_event(told["MessageBody"]).event.text == BODY.decode()


def test_in_lambda_nothing_is_sent_for_an_unknown_name(server: Listening) -> None:
    known = on_lambda(server, "ci", {})
    assert on_lambda(server, "nobody", signed(BODY, at=EPOCH)) == known
    assert known["statusCode"] == 401
    assert not [each for each in server.heard if "SQS" in each.headers["x-amz-target"]]


def test_in_lambda_a_sender_without_ids_gets_fresh_ones(server: Listening) -> None:
    given = {"Authorization": f"Bearer {TOKEN}"}
    ids = {on_lambda(server, "game", given)["body"] for _ in range(2)}
    assert len(ids) == 2


@pytest.mark.parametrize("missing", ["OPENCRAB_CHANNELS", "OPENCRAB_AWS__TABLE", "AWS_REGION"])
def test_what_the_template_forgot_is_named(server: Listening, missing: str) -> None:
    with pytest.raises(Invalid, match=missing if missing != "AWS_REGION" else "AWS_DEFAULT_REGION"):
        channel_door_from_environment(environment(server, **{missing: ""}), lambda: EPOCH)


def test_a_kind_that_does_not_exist_is_named_with_those_that_do(server: Listening) -> None:
    with pytest.raises(Invalid, match="'fax'") as refused:
        channel_door_from_environment(
            environment(server, OPENCRAB_CHANNELS="webhook, fax"), lambda: EPOCH
        )
    assert "webhook" in str(refused.value.cure)


def test_in_ones_own_process_it_wakes_whoever_takes_the_queue(tmp_path: Path) -> None:
    woken = list[int]()
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        runtime = Runtime(
            home=home,
            clock=FakeClock(NOW),
            models=Provider({}),
            actions=registry(Bell()),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        home.facts.commit(Document(owner="webhooks", kind="webhook", id="game", body=bearer()))
        door = build_channel_door(runtime, {"webhook"}, lambda _: None, lambda: woken.append(1))
        request = SignedRequest("webhook", "game", {"x-webhook-secret": TOKEN}, BODY, EPOCH)
        answered = [door.answer(request) for _ in range(2)]
        assert [each.status for each in answered] == [202, 202]
        assert len({said(each)["id"] for each in answered}) == 2
        assert len(woken) == 2
        assert home.interactions is not None
        found = home.interactions.receive(visibility_seconds=9, wait_seconds=0)
        assert found is not None
        assert parse_queued_event(found.body).name == "game"
        assert door.answer(request._replace(name="nobody")).status == 401
        assert len(woken) == 2
