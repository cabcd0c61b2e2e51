"""Secrets for the door: one at a time, from either store, kept for five minutes."""

import json
from collections.abc import Iterator

import pytest

from opencrab.adapters.door.http import door_tls_context
from opencrab.adapters.door.secrets import ABSENT_SECONDS, KEPT_SECONDS, PlainSecrets, plain_secrets
from opencrab.domain.errors import Invalid, Unavailable
from tests.unit.adapters.listening import Heard, Listening, answer, listening

STORED = {"LINE_CHANNEL_SECRET": "s3cret", "OTHER": 7}


def stores(heard: Heard) -> bytes:
    """SSM and Secrets Manager."""
    asked = json.loads(heard.body)
    assert heard.headers["content-type"] == "application/x-amz-json-1.1"
    if heard.headers["x-amz-target"] == "secretsmanager.GetSecretValue":
        assert asked == {"SecretId": "arn:aws:secretsmanager:eu-central-1:1:secret:crab"}
        return answer(200, json.dumps({"SecretString": json.dumps(STORED)}).encode())
    assert heard.headers["x-amz-target"] == "AmazonSSM.GetParameters"
    assert asked["WithDecryption"] is True
    (name,) = asked["Names"]
    value = STORED.get(name.removeprefix("/opencrab/dev/"))
    found = [] if value is None else [{"Name": name, "Value": value}]
    return answer(200, json.dumps({"Parameters": found, "InvalidParameters": []}).encode())


@pytest.fixture
def server() -> Iterator[Listening]:
    with listening(stores) as made:
        yield made


class Times:
    now = 1_767_225_600.0


def secrets(server: Listening, place: str, times: Times) -> PlainSecrets:
    environment = {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "ASIA",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": server.url,
        "OPENCRAB_AWS__SECRETS": place,
    }
    trust = door_tls_context()
    return plain_secrets(environment, lambda: times.now, trust=trust, seconds=5)


@pytest.mark.parametrize(
    "place",
    ["ssm:/opencrab/dev/", "secretsmanager:arn:aws:secretsmanager:eu-central-1:1:secret:crab"],
)
def test_a_secret_is_read_by_its_name_and_kept_for_five_minutes(
    server: Listening, place: str
) -> None:
    times = Times()
    found = secrets(server, place, times)
    assert [found.get("LINE_CHANNEL_SECRET") for _ in range(3)] == ["s3cret"] * 3
    assert len(server.heard) == 1
    assert found.get("SLACK_SIGNING_SECRET") == ""
    times.now += KEPT_SECONDS
    assert found.get("LINE_CHANNEL_SECRET") == "s3cret"
    assert len(server.heard) == 3


def test_a_secret_that_was_absent_is_found_soon_after_it_is_stored(server: Listening) -> None:
    times = Times()
    found = secrets(server, "ssm:/opencrab/dev/", times)
    assert [found.get("OTHERS") for _ in range(3)] == [""] * 3
    assert len(server.heard) == 1
    stored = {"Parameters": [{"Name": "/opencrab/dev/OTHERS", "Value": "new"}]}
    server.reply = lambda _: answer(200, json.dumps(stored).encode())
    times.now += ABSENT_SECONDS
    assert found.get("OTHERS") == "new"


def test_a_store_that_refuses_is_not_taken_for_an_absent_secret(server: Listening) -> None:
    server.reply = lambda _: answer(400, b'{"__type":"AccessDeniedException"}')
    with pytest.raises(Unavailable, match="AccessDeniedException"):
        secrets(server, "ssm:/opencrab/dev/", Times()).get("LINE_CHANNEL_SECRET")


def test_the_place_has_to_be_named(server: Listening) -> None:
    with pytest.raises(Invalid, match="OPENCRAB_AWS__SECRETS"):
        secrets(server, "", Times())
