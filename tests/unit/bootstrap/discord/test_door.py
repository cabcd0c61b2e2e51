"""The door put together: from Lambda's environment, and from an installation on this computer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.discord.client import USER_AGENT as OF_THE_WORKER
from opencrab.adapters.door.discord import USER_AGENT as OF_THE_DOOR
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.discord.door import (
    ACKNOWLEDGE_SECONDS,
    KEEP_SECONDS,
    OFFER_SECONDS,
    build_discord_door,
    discord_door_from_environment,
)
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Invalid
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.interactions import acks
from opencrab.gateways.discord.interactions.door import (
    discord_interaction_headers_and_body,
    interaction_http_result,
)
from opencrab.ports.home import Home
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.discord.signing import Signer
from tests.unit.adapters.listening import Heard, Listening, answer, listening
from tests.unit.gateways.discord.doorway import CHANNEL, TOKEN, interaction

SIGNER = Signer()
KNOWN = {"agents": [{"id": "01mika", "name": "ミカ"}]}
TYPING = {"name": "ask", "options": [{"name": "agent", "value": "ミ", "focused": True}]}
OFFERED = {"type": 8, "data": {"choices": [{"name": "ミカ", "value": "01mika"}]}}


def outside(heard: Heard) -> bytes:
    """SQS, DynamoDB and Discord, all in one place."""
    target = heard.headers.get("x-amz-target", "")
    if target.endswith(".GetItem"):
        item = {"Item": {"body": {"S": json.dumps(KNOWN)}}}
        return answer(200, json.dumps(item).encode())
    return answer(200, b"{}") if target else answer(204)


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
        "OPENCRAB_DISCORD_API": f"{server.url}/api/v10",
        "OPENCRAB_DISCORD_PUBLIC_KEY": f"{Signer(bytes(32)).public_key}, {SIGNER.public_key}",
        "OPENCRAB_AWS__INTERACTIONS_QUEUE": "https://sqs.eu-central-1.amazonaws.com/1/i.fifo",
        "OPENCRAB_AWS__TABLE": "opencrab-test",
        **changes,
    }


def signed(told: Any, epoch: float) -> tuple[dict[str, str], bytes]:
    body = json.dumps(told, ensure_ascii=False).encode()
    return SIGNER.headers(str(int(epoch)), body), body


def on_lambda(server: Listening, told: Any) -> dict[str, Any]:
    """What the function answers."""
    epoch = NOW.timestamp()
    headers, body = signed(told, epoch)
    event = {"headers": headers, "body": body.decode(), "isBase64Encoded": False}
    door = discord_door_from_environment(environment(server), lambda: epoch)
    return interaction_http_result(door.answer(*discord_interaction_headers_and_body(event), epoch))


def test_an_interaction_is_in_the_queue_before_discord_hears_of_it(server: Listening) -> None:
    told = interaction()
    assert on_lambda(server, told) == {"statusCode": 202, "headers": {}, "body": ""}
    kept, acknowledged = server.heard
    assert json.loads(kept.body) == {
        "QueueUrl": "https://sqs.eu-central-1.amazonaws.com/1/i.fifo",
        "MessageBody": json.dumps(told, ensure_ascii=False),
        "MessageGroupId": CHANNEL,
        "MessageDeduplicationId": told["id"],
    }
    assert kept.headers["x-amz-security-token"] == "token"
    path = f"/api/v10/interactions/{told['id']}/{TOKEN}/callback"
    assert acknowledged.line == f"POST {path} HTTP/1.1"


def test_choices_come_from_the_table(server: Listening) -> None:
    answered = on_lambda(server, interaction(4, data=TYPING))
    assert json.loads(answered["body"]) == OFFERED
    (heard,) = server.heard
    asked = json.loads(heard.body)
    assert asked["TableName"] == "opencrab-test"
    assert asked["Key"] == {
        "pk": {"S": f"FACT#{INSTALLATION_FACTS}"},
        "sk": {"S": "discord_choices#current"},
    }


def test_all_of_it_fits_what_discord_waits() -> None:
    assert KEEP_SECONDS + ACKNOWLEDGE_SECONDS <= 2.2
    assert OFFER_SECONDS < 1.5


@pytest.mark.parametrize(
    "missing",
    [
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "OPENCRAB_AWS__TABLE"),
        *("OPENCRAB_DISCORD_PUBLIC_KEY", "OPENCRAB_AWS__INTERACTIONS_QUEUE"),
    ],
)
def test_what_the_environment_lacks_is_named(server: Listening, missing: str) -> None:
    with pytest.raises(Invalid, match=missing):
        discord_door_from_environment(environment(server, **{missing: ""}), NOW.timestamp)


def test_what_is_no_public_key_is_named(server: Listening) -> None:
    with pytest.raises(Invalid, match="'abc' is not a valid Ed25519 public key"):
        discord_door_from_environment(
            environment(server, OPENCRAB_DISCORD_PUBLIC_KEY="abc"), NOW.timestamp
        )


def test_both_speak_to_discord_under_one_name() -> None:
    assert OF_THE_DOOR == OF_THE_WORKER


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with sqlite(tmp_path, FakeClock(NOW)) as opened:
        yield opened


def at_home(home: Home, told: Any) -> tuple[int, bytes, list[Heard]]:
    """What the door answers on one's own computer, and what Discord heard of it."""
    nobody: Any = None
    runtime = Runtime(home, FakeClock(NOW), nobody, nobody, consequences=CONSEQUENCES, jobs=JOBS)
    with listening(outside) as server:
        door = build_discord_door(runtime, SIGNER.public_key, server.url)
        made = door(*signed(told, NOW.timestamp()), NOW.timestamp())
    return made.status, made.content, server.heard


def test_at_home_it_is_the_same_door(home: Home) -> None:
    told = interaction()
    status, content, heard = at_home(home, told)
    assert (status, content, len(heard)) == (202, b"", 1)
    assert home.interactions is not None
    delivery = home.interactions.receive(visibility_seconds=30, wait_seconds=0)
    assert delivery is not None
    assert (json.loads(delivery.body), delivery.group) == (told, CHANNEL)


def test_at_home_choices_come_from_the_facts(home: Home) -> None:
    place = {"kind": acks.CHOICES_KIND, "id": acks.CHOICES_ID}
    home.facts.commit(Document(owner=INSTALLATION_FACTS, body=KNOWN, **place))  # type: ignore[arg-type]
    status, content, heard = at_home(home, interaction(4, data=TYPING))
    assert (status, json.loads(content), heard) == (200, OFFERED, [])
