"""The door of Discord in the REST application: what is signed needs no key, and no description."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.gateways.discord.interactions.door import DoorResponse
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.discord.interactions import PATH, Interactions
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


def answered(
    house: House, interactions: Interactions | None, *, method: str = "POST", body: bytes = b"{}"
) -> httpx.Response:
    """A request as Discord sends it: with its headers, without a key."""
    app = create_rest_app(
        house.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, interactions=interactions
    )

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://house") as client:
            headers = {"X-Signature-Ed25519": "ab", "Content-Type": "application/json"}
            return await client.request(method, PATH, content=body, headers=headers)

    return asyncio.run(asked())


def test_the_body_arrives_to_the_byte_and_the_answer_goes_back(house: House) -> None:
    heard: list[Any] = []

    def door(headers: Mapping[str, str], body: bytes, now: float) -> DoorResponse:
        heard.append((headers["x-signature-ed25519"], body, now))
        return DoorResponse(200, {"type": 1})

    body = '{ "type":1 , "name":"蟹" }\n'.encode()
    answer = answered(house, door, body=body)
    assert (answer.status_code, answer.json()) == (200, {"type": 1})
    assert answer.headers["content-type"] == "application/json"
    ((signature, said, at),) = heard
    assert (signature, said) == ("ab", body)
    assert at == pytest.approx(house.runtime.clock.now().timestamp(), abs=60)


def test_an_acknowledged_interaction_is_answered_with_nothing(house: House) -> None:
    answer = answered(house, lambda *_: DoorResponse(202))
    assert (answer.status_code, answer.content) == (202, b"")
    assert "content-type" not in answer.headers


def test_where_discord_is_off_there_is_no_door(house: House) -> None:
    answer = answered(house, None)
    assert answer.status_code == 404
    assert "gateway.discord" in answer.json()["cure"]


def test_other_methods_are_none(house: House) -> None:
    assert answered(house, lambda *_: DoorResponse(200), method="GET").status_code == 405


def test_endless_bodies_do_not_reach_the_door(house: House) -> None:
    answer = answered(house, lambda *_: DoorResponse(200), body=b" " * (1 << 20) + b"{}")
    assert answer.status_code == 413


def test_the_description_of_the_api_does_not_name_it(house: House) -> None:
    assert PATH not in json.dumps(house.app.openapi())
