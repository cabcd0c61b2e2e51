"""The meter of units against sums made by hand, and what a turn may cost by it."""

from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab import settings
from opencrab.adapters.dynamodb.item import Item, to_dynamodb_attribute
from opencrab.domain.usage.aws_cost import PriceSheet
from opencrab.domain.usage.aws_meter import Meter as Meters
from opencrab.domain.value import Language
from tests.bench.bill import (
    ACTIVE,
    BEAT_SECONDS,
    HISTORIES,
    LEASE,
    MEASURING,
    READ_UNITS,
    WRITE_UNITS,
    Around,
    Bill,
    Bills,
    around,
    beating,
    bills,
    new_file,
    night_look,
)
from tests.bench.handler import counted
from tests.bench.units import Meter, item_bytes, started, value_bytes, written
from tests.conftest import ROOT

KEY = {"pk": {"S": "P#1"}, "sk": {"S": "S"}}
RECEIVED_AND_DELETED = 2
"""What Lambda does with a message that our code never sees."""

LINE_BYTES = 26
"""CloudWatch counts so much on top of each line."""

PLATFORM_BYTES = 430
"""START, END and REPORT of an invocation, by their form: 66, 50 and about 236 bytes."""

ACCESS_BYTES = 380
"""A line of the access log in the form that the template gives it."""


def item(**values: Any) -> Item:
    return KEY | {name: to_dynamodb_attribute(value) for name, value in values.items()}


def written_units(before: Item | None, after: Item | None, times: int = 1) -> tuple[int, int]:
    part = written(("P#1", "S"), before, after, times)
    return part.writes, part.index_writes


def due(at: int) -> Item:
    return item(due_list="turn#1", due_at=at)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("crab", 4),
        ("蟹", 3),
        (b"\x00\x01", 2),
        (True, 1),
        (None, 1),
        (0, 1),
        (7, 2),
        (-7, 3),
        (1_234, 3),
        (12_000, 2),
        ([], 3),
        (["a", 7], 3 + 1 + 1 + 1 + 2),
        ({"b": "cd"}, 3 + 1 + 1 + 2),
    ],
)
def test_a_value_is_as_large_as_the_guide_says(value: Any, expected: int) -> None:
    stored = {"B": value} if isinstance(value, bytes) else to_dynamodb_attribute(value)
    assert value_bytes(stored) == expected


def test_an_item_is_as_large_as_its_names_and_values() -> None:
    assert item_bytes(item(名="蟹")) == (2 + 3) + (2 + 1) + (3 + 3)


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1_024, 1), (1_025, 2), (2_049, 3)])
def test_a_unit_counts_once_it_is_begun(size: int, units: int) -> None:
    assert started(size, 1_024) == units


def test_a_write_costs_by_the_larger_of_before_and_after() -> None:
    large, small = item(body="x" * 2_000), item(body="x")
    assert written_units(large, small) == written_units(small, large) == (2, 0)
    assert written_units(large, None) == (2, 0)
    assert written_units(None, small, times=2) == (2, 0)


def test_an_index_costs_by_what_becomes_of_its_entry() -> None:
    assert written_units(None, due(5)) == (1, 1), "new"
    assert written_units(due(5), due(5) | item(body="x")) == (1, 0), "untouched"
    assert written_units(due(5), due(6)) == (1, 2), "elsewhere"
    assert written_units(due(5), item()) == (1, 1), "gone"
    assert written_units(None, item(due_list="turn#1")) == (1, 0), "half a key is no entry"
    assert written_units(None, due(5), times=2) == (2, 1), "in a transaction"


def test_a_refused_write_costs_what_it_would_have_but_no_index() -> None:
    part = written(("P#1", "S"), item(body="x" * 2_000), due(5), 2, refused=True)
    assert (part.writes, part.index_writes) == (4, 0)


def test_reads_cost_by_their_bytes_and_their_consistency() -> None:
    large = item(body="x" * 5_000)
    answers: dict[str, dict[str, Any]] = {
        "GetItem": {"Item": large},
        "Query": {"Items": [item(body="x" * 2_000)] * 3},
        "BatchGetItem": {"Responses": {"t": [large]}},
    }
    meter = Meter(lambda operation, _: answers[operation])
    query = {"ExpressionAttributeValues": {":0": {"S": "P#1"}}}
    other = KEY | {"sk": {"S": "T"}}
    asked = {"RequestItems": {"t": {"Keys": [KEY, other], "ConsistentRead": True}}}
    meter("GetItem", {"Key": KEY, "ConsistentRead": True})
    meter("GetItem", {"Key": KEY, "ConsistentRead": False})
    meter("Query", query)
    meter("BatchGetItem", asked)
    answers["GetItem"] = {}
    meter("GetItem", {"Key": KEY})
    assert [charge.reads for charge in meter.taken()] == [2, 1, 1, 3, 0.5]
    assert meter.reads == 0


@given(st.text(max_size=50), st.text(max_size=50))
def test_more_in_an_item_never_costs_less(name: str, text: str) -> None:
    less, more = item(body=text), item(body=text + name, **{f"x{name}": text})
    assert item_bytes(less) < item_bytes(more)
    assert written_units(less, more) == written_units(more, less) >= written_units(less, less)


NEW_NAMES = 5
"""Write units of two new entries in the ledger of an agent's files, beside one that is there."""


BEYOND_THE_WINDOW = 2
"""Read units of a history that is not shown whole: its opening line, and what there are summaries
of.
"""


@cache
def cached_bills(language: Language, lines: int) -> Bills:
    return bills(language, lines)


@cache
def cached_new_file() -> Bill:
    return new_file(Language.JA)


@cache
def cached_around() -> Around:
    return around()


@pytest.mark.parametrize("language", Language)
def test_a_turn_costs_at_most_51_write_units_without_measuring_and_nine_read_units(
    language: Language,
) -> None:
    later = cached_bills(language, 10).later
    assert later.writes - MEASURING <= WRITE_UNITS
    assert later.reads <= READ_UNITS


def test_a_turn_costs_the_same_however_long_the_history_is() -> None:
    short, *long = [cached_bills(Language.JA, lines) for lines in HISTORIES]
    assert len({each.later.writes for each in (short, *long)}) == 1
    assert len({each.first.writes for each in (short, *long)}) == 1
    assert len({each.later.reads for each in long}) == 1
    assert long[0].later.reads - short.later.reads <= BEYOND_THE_WINDOW
    assert long[0].first.reads == long[1].first.reads, "a worker reads one page of history"


def test_a_file_and_its_folder_that_are_new_cost_no_more_than_their_names_in_the_ledger() -> None:
    later = cached_bills(Language.JA, 10).later
    assert cached_new_file().writes - later.writes <= NEW_NAMES + ACTIVE + LEASE


@cache
def sheet() -> PriceSheet:
    return PriceSheet.of(settings.aws_pricing_settings(folder=ROOT / "config"))


def test_the_price_sheet_counts_units_as_the_meter_does() -> None:
    beside, used = cached_around(), sheet().turn.uses
    assert used[Meters.WRITE_UNITS] == cached_new_file().writes
    rest = 3 * beside.key_check + beside.look + beside.replies
    first = cached_bills(Language.JA, 1_000).first.reads
    assert used[Meters.READ_UNITS] == Decimal(str(first + rest))
    assert sheet().heartbeat.uses[Meters.READ_UNITS] == Decimal(str(beside.sweep))


def test_the_price_sheet_counts_the_requests_and_the_log_of_a_turn() -> None:
    turn, used = counted(), sheet().turn.uses
    requests = turn.admission + turn.worker
    assert used[Meters.SQS_REQUESTS] == requests["sqs SendMessage"] + RECEIVED_AND_DELETED
    assert used[Meters.S3_WRITES] == requests["s3 PutObject"]
    assert used[Meters.S3_READS] == requests["s3 HeadObject"]
    # A worker lists an agent's vault once in ten minutes: a thousandth of a turn's price.
    assert requests["s3 ListObjectsV2"] <= 1
    assert not {name for name in requests if name.startswith(("sqs", "s3"))} - {
        "sqs SendMessage",
        "s3 PutObject",
        "s3 HeadObject",
        "s3 ListObjectsV2",
    }
    invocations = sum(run.invocations for run in sheet().turn.functions.values())
    said = len(turn.log.encode()) + LINE_BYTES * turn.log.count("\n")
    logged = said + invocations * PLATFORM_BYTES + used[Meters.HTTP_REQUESTS] * ACCESS_BYTES
    assert float(used[Meters.LOG_BYTES]) == pytest.approx(float(logged), rel=0.1)
    assert sheet().heartbeat.uses[Meters.LOG_BYTES] == PLATFORM_BYTES


def test_the_price_sheet_counts_a_beat_that_finds_nothing_as_the_meter_does() -> None:
    found, used = beating(), sheet().beat.uses
    assert found.writes == used[Meters.WRITE_UNITS]
    assert float(used[Meters.READ_UNITS]) == pytest.approx(found.reads, abs=0.05)
    assert found.sent == 1
    assert used[Meters.STANDARD_SQS_REQUESTS] == 1 + RECEIVED_AND_DELETED
    assert used[Meters.LOG_BYTES] == PLATFORM_BYTES, "an idle beat says nothing"
    assert sheet().beat_seconds == BEAT_SECONDS


def test_the_price_sheet_counts_an_hour_without_a_night_as_the_meter_does() -> None:
    used = sheet().night.uses
    assert night_look() == used[Meters.READ_UNITS]
    assert used[Meters.LOG_BYTES] == PLATFORM_BYTES, "it says nothing"
