"""The bus to worlds: an envelope goes out as an event and comes out of one, whole or not at all."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from opencrab.adapters.world_bus import (
    EventBridgeBus,
    eventbridge_detail_of_world_envelope,
    world_envelope_of_eventbridge_event,
)
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.world.binding import ENVELOPE_BYTES, WorldEnvelope

ENVELOPE = WorldEnvelope(
    world_id="kingdom",
    code=0x0600,
    sender="ab" * 32,
    recipient="Mint",
    nonce="0f" * 16,
    at=datetime(2026, 2, 17, tzinfo=UTC),
)


class Events:
    """EventBridge, as far as it is used here; an answer that is an exception is raised."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.entries: list[dict[str, Any]] = []

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.entries.extend(Entries)
        if isinstance(self._answer, Exception):
            raise self._answer
        return dict(self._answer)


def test_an_envelope_travels_as_an_event_of_its_bus() -> None:
    events, raw = Events({"FailedEntryCount": 0}), b"\x92" * ENVELOPE_BYTES
    EventBridgeBus(events, "worlds").send(raw, ENVELOPE)
    (entry,) = events.entries
    assert (entry["EventBusName"], entry["Source"]) == ("worlds", "opencrab.agent")
    detail = json.loads(entry["Detail"])
    assert (detail["recipient"], detail["code"], detail["v"]) == ("Mint", 0x0600, 1)
    assert (
        world_envelope_of_eventbridge_event(json.dumps({"detail": detail, "source": "a.world"}))
        == raw
    )
    assert len(json.dumps(entry)) < 256 * 1024, "what EventBridge takes"


@pytest.mark.parametrize(
    "answer",
    [
        {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException"}]},
        ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutEvents"),
    ],
)
def test_a_bus_that_takes_nothing_is_unavailable(answer: Any) -> None:
    with pytest.raises(Unavailable):
        EventBridgeBus(Events(answer), "worlds").send(b"x", ENVELOPE)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"detail": 1}',
        '{"detail": {"envelope": "蟹"}}',
        '{"detail": {"envelope": 7}}',
        "[" * 100_000,
        json.dumps(
            {
                "detail": {
                    **eventbridge_detail_of_world_envelope(b"x", ENVELOPE),
                    "envelope": "a" * 400_000,
                }
            }
        ),
    ],
)
def test_what_holds_no_envelope_is_refused(body: str) -> None:
    with pytest.raises(Invalid):
        world_envelope_of_eventbridge_event(body)
