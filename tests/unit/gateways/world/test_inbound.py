"""What a queue brings from worlds: what is refused goes, what fails for now comes again."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.world_bus import (
    eventbridge_detail_of_world_envelope,
    world_envelope_of_eventbridge_event,
)
from opencrab.domain.errors import Unavailable
from opencrab.domain.world.binding import WorldBinding
from opencrab.engine.world.binding import bind_to_world, world_of_agent
from opencrab.gateways.world.inbound import world_messages_from_queue
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(sqlite, tmp_path)
    made.agent("crab", (Reply(text="…"),))
    yield made
    made.close()


def record(house: House, kingdom: ReferenceWorld, raw: bytes, name: str) -> dict[str, Any]:
    """A record of the queue, as the rule of the bus fills it."""
    envelope = kingdom.envelopes.open(raw).envelope
    body = json.dumps(
        {"source": "a.world", "detail": eventbridge_detail_of_world_envelope(raw, envelope)}
    )
    arrived = int(house.clock.now().timestamp() * 1_000)
    return {"messageId": name, "body": body, "attributes": {"SentTimestamp": str(arrived)}}


def test_a_batch_is_taken_what_is_refused_goes_and_what_fails_comes_again(
    house: House, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kingdom = ReferenceWorld(house.clock)
    house.runtime = replace(house.runtime, world=kingdom.link(tmp_path / "secrets"))
    crab: WorldBinding = bind_to_world(house.runtime, "crab", kingdom.binding())
    stranger = kingdom.envelopes.new_key()
    forged = kingdom.say(crab.key_id, "EVENT", {"words": "秘密"}, key=stranger)
    records = [
        {"messageId": "m1", "body": "nothing"},
        record(house, kingdom, forged, "m2"),
        record(house, kingdom, kingdom.allocation(crab, 4), "m3"),
    ]
    assert world_messages_from_queue(
        house.runtime, {"Records": records}, world_envelope_of_eventbridge_event
    ) == {"batchItemFailures": []}
    assert world_of_agent(house.runtime.home, "crab").units == 4
    told = caplog.text
    assert "m1, code=invalid" in told
    assert "m2, code=refused" in told
    assert "m3, outcome=taken" in told
    assert "秘密" not in told


def test_trouble_of_ours_loses_no_message(
    house: House, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record = {"messageId": "m1", "body": "x"}

    def silent(_body: str) -> bytes:
        raise Unavailable("the store is silent")

    def broken(_body: str) -> bytes:
        raise ZeroDivisionError

    for unpack in (silent, broken):
        answer = world_messages_from_queue(house.runtime, {"Records": [record]}, unpack)
        assert answer == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert "the store is silent" in caplog.text
