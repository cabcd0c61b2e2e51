"""Turn headers: any turn comes back exactly, and a usual one costs one unit to write."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.turn.header import (
    SCHEMA,
    dynamodb_turn_sweep_time,
    turn_from_dynamodb_item,
    turn_to_dynamodb_item,
)
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import Block, Stop, Trigger, Turn, TurnStatus
from tests.contract.example import CHANNEL, JAPANESE, NOW, later, turn

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.from_regex(r"[A-Za-z0-9_\-]{1,64}", fullmatch=True)
TIMES = st.datetimes(
    datetime(2000, 1, 1),  # noqa: DTZ001  # hypothesis adds the zone itself
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
COUNTS = st.integers(0, 10**12)
CHANNELS = st.builds(
    Channel,
    kind=IDS,
    address=st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=500),
)
BLOCKS = st.lists(
    st.builds(Block, day=TEXT, micro_usd=COUNTS, scopes=st.lists(TEXT, max_size=3).map(tuple)),
    max_size=3,
).map(tuple)
TURNS = st.builds(
    Turn,
    **dict.fromkeys(("id", "agent_id", "session_id", "principal_id", "group"), TEXT),
    body_hash=TEXT,
    trigger=st.sampled_from(Trigger),
    source=st.sampled_from(Source),
    authority=st.sampled_from(Authority),
    trigger_line=COUNTS,
    channel=st.none() | CHANNELS,
    status=st.sampled_from(TurnStatus),
    epoch=COUNTS,
    sequence=COUNTS,
    attempts=COUNTS,
    deliveries=COUNTS,
    crashes=COUNTS,
    lease_until=st.none() | TIMES,
    receipt=st.none() | TEXT,
    stop=st.none() | st.builds(Stop, by=TEXT, reason=TEXT, at=TIMES),
    taint=st.booleans(),
    hops=COUNTS,
    allowance=st.integers(-(10**12), 10**12),
    spent=COUNTS,
    blocks=BLOCKS,
    scopes=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    note=TEXT,
    created_at=TIMES,
    ended_at=st.none() | TIMES,
)

CLAIMED = {"status": TurnStatus.RUNNING, "epoch": 1, "deliveries": 1, "receipt": "A" * 412}
BLOCK = (Block(day="2026-02-17", micro_usd=50_000),)
SPENDING = {"allowance": 48_000, "blocks": BLOCK, "scopes": ()}


@given(TURNS)
def test_any_turn_comes_back_exactly(given_turn: Turn) -> None:
    assert turn_from_dynamodb_item(turn_to_dynamodb_item(given_turn)) == given_turn


def test_what_is_as_usual_takes_no_room() -> None:
    absent = {"stop", "blocks", "receipt", "taint", "hops", "allowance", "spent", "note", "channel"}
    assert not (absent | {"scopes", "crashes"}) & turn_to_dynamodb_item(turn()).keys()


def test_a_header_from_before_there_were_scopes_is_read() -> None:
    item = turn_to_dynamodb_item(turn(blocks=BLOCK, allowance=7))
    assert not {"scopes"} & item.keys()
    assert "scopes" not in item["blocks"]["S"]
    assert turn_from_dynamodb_item(item) == turn(blocks=BLOCK, allowance=7)


def test_what_conditions_speak_of_is_always_there() -> None:
    assert {"status", "epoch", "sequence", "deliveries", "schema"} <= turn_to_dynamodb_item(
        turn()
    ).keys()


def test_only_a_turn_that_may_run_is_found_by_the_sweep() -> None:
    for status in TurnStatus:
        found = "due_list" in turn_to_dynamodb_item(turn(status=status))
        assert found == (status in {TurnStatus.QUEUED, TurnStatus.RUNNING})


def test_the_sweep_looks_early_and_never_late() -> None:
    for seconds in (0, 1, 299, 300, 301):
        at = later(seconds)
        assert (
            timedelta()
            <= at
            - NOW
            - timedelta(microseconds=dynamodb_turn_sweep_time(at) - dynamodb_turn_sweep_time(NOW))
            < (timedelta(minutes=5))
        )


def test_an_ended_turn_expires_after_35_days() -> None:
    item = turn_to_dynamodb_item(turn(status=TurnStatus.COMPLETED, ended_at=NOW, lease_until=None))
    assert item["ttl"]["N"] == str(int((NOW + timedelta(days=35)).timestamp()))
    assert "ttl" not in turn_to_dynamodb_item(turn())


def test_a_header_of_a_newer_version_is_not_read() -> None:
    item = turn_to_dynamodb_item(turn()) | {"schema": {"N": str(SCHEMA.version + 1)}}
    with pytest.raises(Unavailable, match="newer version"):
        turn_from_dynamodb_item(item)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        CLAIMED,
        CLAIMED | SPENDING | {"sequence": 6, "attempts": 2, "spent": 2_000},
        CLAIMED
        | {
            "status": TurnStatus.COMPLETED,
            "sequence": 7,
            "attempts": 2,
            "spent": 2_000,
            "scopes": (),
            "lease_until": None,
            "ended_at": NOW,
        },
    ],
    ids=["queued", "claimed", "spending", "ended"],
)
def test_a_usual_header_fits_into_one_write_unit(changes: dict[str, Any]) -> None:
    assert size_of(turn_to_dynamodb_item(usual(**changes))) <= 1_024


LONGEST = CLAIMED | SPENDING | {"sequence": 6, "attempts": 2, "spent": 2_000, "taint": True}


@pytest.mark.parametrize(
    ("person", "room", "budgets"),
    [
        ("discord-123456789012345678", "123456789012345678/123456789012345678", "session"),
        ("discord-123456789012345678", "123456789012345678/123456789012345678", "public"),
        (f"line-U{'0' * 32}", f"U{'0' * 32}/{'0' * 26}", ""),
        ("telegram-1234567890", "-1001234567890/12345", "public"),
        ("slack-U0123456789", "C0123456789/1767603788.123456", "public"),
    ],
)
def test_a_header_fits_into_one_unit_for_people_of_chat_services_too(
    person: str, room: str, budgets: str
) -> None:
    of_budget = {"session": "session:01kh2m6z7f3w9x0yq4c8e5rtvb", "public": f"public:{person}"}
    told = {
        "body_hash": "",
        "principal_id": person,
        "channel": Channel(kind=person.partition("-")[0], address=room, awaited=True),
        "scopes": (of_budget[budgets],) if budgets else (),
    }
    assert size_of(turn_to_dynamodb_item(usual(**(LONGEST | told)))) <= 1_024


def usual(**changes: Any) -> Turn:
    """A turn as an installation on AWS has it: ids of 26 characters, and times to the microsecond.

    A receipt handle of a FIFO queue has 412 characters.
    """
    one_id = "01kh2m6z7f3w9x0yq4c8e5rtvb"
    at = NOW + timedelta(microseconds=123_456)
    return turn(
        one_id,
        one_id,
        agent_id=one_id,
        principal_id=one_id,
        group=one_id,
        body_hash="f" * 64,
        trigger_line=12_345,
        created_at=at,
        lease_until=at,
    ).replaced(**changes)


def size_of(item: Item) -> int:
    """What DynamoDB counts for an item: names and values in UTF-8, and some bytes around them.

    As "DynamoDB item sizes and formats" in its developer guide has it.
    """
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            number = str(content)
            digits = number.lstrip("-").strip("0")
            return (len(digits) + 1) // 2 + 1 + number.startswith("-")
        case "BOOL" | "NULL":
            return 1
        case "L":
            return 3 + sum(1 + _size(part) for part in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _size(part) for name, part in content.items())
        case _:
            return len(str(content).encode())


def test_a_header_keeps_what_people_wrote_as_it_is() -> None:
    stopped = turn(stop=Stop(by="太郎", reason=JAPANESE, at=NOW), channel=CHANNEL)
    item = turn_to_dynamodb_item(stopped)
    assert JAPANESE in item["stop"]["S"], "no escapes: they would take twice the room"
    assert turn_from_dynamodb_item(item) == stopped
