"""The door for signed requests in the REST application: no key, the body to the byte."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.bootstrap.channels.interactions import (
    handle_queued_interaction,
    has_interactions,
    offer_own_channel_door,
)
from opencrab.domain.document import new_fact
from opencrab.domain.webhooks.webhook import WEBHOOK, WEBHOOKS, Webhook
from opencrab.settings import load_settings
from tests.integration.rest.house import House, documented
from tests.unit.gateways.door.visiting import SECRET, signed

BODY = '{ "text":"蟹が来ました" }\n'.encode()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


def opened(house: House) -> list[int]:
    """Let the application take signed requests; returns how often the queue's worker was woken."""
    woken = list[int]()
    offer_own_channel_door(
        house.app,
        load_settings({}),
        house.runtime,
        lambda *_, **__: load_settings({}),
        wake=lambda: woken.append(1),
    )
    return woken


def add(house: House, name: str = "ci") -> None:
    hook = Webhook(
        secrets=(SECRET,),
        agent_id=house.agent("蟹"),
        template="{{text}}",
        created_by="owner",
        created_at=house.runtime.clock.now(),
    )
    house.runtime.home.facts.commit(new_fact(WEBHOOKS, WEBHOOK, name, hook))


def post(
    house: House, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST"
) -> httpx.Response:
    async def asked() -> httpx.Response:
        async with house.client() as client:
            return await client.request(method, path, content=body, headers=dict(headers))

    return asyncio.run(asked())


def headers_now(house: House, body: bytes = BODY, **more: Any) -> dict[str, str]:
    return signed(body, at=house.runtime.clock.now().timestamp(), **more)


def work(house: House) -> int:
    """Handle what was queued; returns how much it was."""
    queue, count = house.runtime.home.interactions, 0
    assert queue is not None
    while (found := queue.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        handle_queued_interaction(house.runtime, found)
        queue.acknowledge(found.receipt)
        count += 1
    return count


def test_a_signed_request_is_answered_by_the_agent(house: House) -> None:
    woken = opened(house)
    assert not has_interactions(load_settings({}), house.runtime)
    add(house)
    assert has_interactions(load_settings({}), house.runtime)
    headers = headers_now(house)
    answers = [post(house, "/webhooks/ci", BODY, headers) for _ in range(2)]
    assert [(each.status_code, each.json()) for each in answers] == [(202, {"id": "msg_1"})] * 2
    assert (work(house), len(woken)) == (1, 1)
    house.work()
    (session,) = house.got("/sessions")["items"]
    lines = house.got(f"/sessions/{session['id']}/messages")["items"]
    assert lines[0]["text"] == "蟹が来ました"
    assert len(lines) == 2


def test_a_request_without_a_valid_signature_gets_no_key_either(house: House) -> None:
    opened(house)
    add(house)
    for path in ("/webhooks/ci", "/webhooks/nobody", "/channels/line", "/channels/webhook"):
        answer = post(house, path, BODY, {"authorization": f"Bearer {house.owner}"})
        assert (answer.status_code, answer.json()) == (
            401,
            {"error": "no receiver at this address accepts the request's signature"},
        )
    assert work(house) == 0


def test_other_methods_and_endless_bodies_do_not_reach_it(house: House) -> None:
    opened(house)
    assert post(house, "/webhooks/ci", b"", {}, method="GET").status_code == 405
    assert post(house, "/webhooks/ci", b" " * (1 << 21), {}).status_code == 413
    assert post(house, "/webhooks/ci/more", b"", {}).status_code == 404


def test_without_a_door_it_says_where_there_is_one(house: House) -> None:
    answer = post(house, "/webhooks/ci", BODY, {})
    assert answer.status_code == 404
    assert "Channels" in answer.json()["cure"]


def test_the_description_of_the_api_does_not_name_it() -> None:
    paths = documented()["paths"]
    assert "/api/webhooks" in paths
    assert not [path for path in paths if path.startswith(("/webhooks", "/channels"))]
