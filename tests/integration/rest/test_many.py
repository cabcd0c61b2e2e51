"""Many clients at once: they wait without holding up anybody else."""

import asyncio
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from tests.integration.rest.house import House

CLIENTS = 200


def waiting(house: House, session_id: str, text: str) -> Callable[[httpx.AsyncClient], Any]:
    """A client who says the same as all others and waits for the reply."""
    headers = {"Idempotency-Key": "all-together", "Prefer": "wait=30"}
    place = f"/sessions/{session_id}/messages"
    return lambda client: house.ask(client, "POST", place, {"text": text}, headers=headers)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["みんなで待つ", "all of us wait"])
def test_health_answers_while_two_hundred_clients_wait(house: House, text: str) -> None:
    session_id = house.session()
    spent: list[float] = []

    async def health(client: httpx.AsyncClient) -> httpx.Response:
        began = time.perf_counter()
        answer = await house.ask(client, "GET", "/health")
        spent.append((time.perf_counter() - began) * 1_000)
        return answer

    async def healthy_until_somebody_works(client: httpx.AsyncClient) -> httpx.Response:
        for _ in range(20):
            await health(client)
            await asyncio.sleep(0.02)
        await asyncio.to_thread(house.work, wait_seconds=1)
        return await health(client)

    clients = [waiting(house, session_id, text)] * CLIENTS
    *answers, healthy = house.many(*clients, healthy_until_somebody_works)
    assert healthy.json()["status"] == "ok"
    assert [answer.status_code for answer in answers] == [200] * CLIENTS
    assert {reply["text"] for answer in answers for reply in answer.json()["replies"]} == {
        house.lines(session_id)[1]
    }
    assert {tuple(answer.json()["pending"]) for answer in answers} == {()}
    assert len({tuple(answer.json()["turn_ids"]) for answer in answers}) == 1
    sys.stdout.write(f"health beside {CLIENTS} clients: {min(spent):.1f}..{max(spent):.1f} ms\n")


def test_the_same_request_from_many_clients_makes_one_thing(house: House) -> None:
    headers = {"Idempotency-Key": "race"}
    ask = partial(house.ask, method="POST", path="/agents", body={"name": "競争"}, headers=headers)
    answers = house.many(*[ask] * 20)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(house.got("/agents")["items"]) == 1


def test_a_stale_version_wins_for_one_of_many(house: House) -> None:
    where = f"/agents/{house.agent()}/soul"
    ask = partial(
        house.ask,
        method="PUT",
        path=where,
        body={"persona_name": "早い者勝ち"},
        headers={"If-Match": '"1"'},
    )
    statuses = sorted(answer.status_code for answer in house.many(*[ask] * 12))
    assert statuses == [200] + [409] * 11
