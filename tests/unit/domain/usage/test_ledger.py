"""The usage ledger: ids that sort by time, and spans of them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.usage.ledger import (
    Period,
    UsageRow,
    is_usage_row_id,
    turn_of_ledger_row,
    usage_row_id_bounds,
)

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
TOKYO = timezone(timedelta(hours=9))


def row(**fields: Any) -> UsageRow:
    given: dict[str, Any] = {
        "agent_id": "hana",
        "session_id": "s1",
        "turn_id": "t1",
        "n": 1,
        "at": NOW,
        "trigger": Trigger.MESSAGE,
        "provider": "openai",
        "model": "gpt",
        "purpose": Use.CONVERSATION,
        "task_type": "conversation",
        "complexity": 0.0,
        "tier": 2,
        "chosen_by": "default",
        "state": CallState.COMPLETED,
        "reserved": 10,
        "cost": 5,
    }
    return UsageRow(**given | fields)


TIMES = st.datetimes(
    datetime(2026, 1, 1),  # noqa: DTZ001  # hypothesis adds the zone itself
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(one=TIMES, other=TIMES)
def test_ids_sort_by_time(one: datetime, other: datetime) -> None:
    first, second = row(at=one), row(at=other)
    assert (first.id < second.id) == (one < other)
    assert is_usage_row_id(first.id)


def test_ids_of_one_moment_sort_by_turn_and_number() -> None:
    assert row().id == "20260217T090000.000000Z-t1-0001"
    assert row(n=2).id < row(n=10).id < row(turn_id="t2").id


@given(at=TIMES, since=st.none() | TIMES, until=st.none() | TIMES)
def test_a_span_holds_exactly_the_ids_of_its_times(
    at: datetime, since: datetime | None, until: datetime | None
) -> None:
    low, high = usage_row_id_bounds(since, until, None)
    within = (since is None or since <= at) and (until is None or at < until)
    assert (low <= row(at=at).id < high) == within


def test_a_span_is_the_same_in_every_zone() -> None:
    assert usage_row_id_bounds(NOW.astimezone(TOKYO), None, None) == usage_row_id_bounds(
        NOW, None, None
    )


def test_what_comes_after_a_row_lies_before_it() -> None:
    low, high = usage_row_id_bounds(None, None, row().id)
    assert low < row(at=NOW - timedelta(days=400)).id < high == row().id
    assert usage_row_id_bounds(None, NOW, row(at=NOW + timedelta(1)).id) == usage_row_id_bounds(
        None, NOW, None
    )


@pytest.mark.parametrize("after", ["", "x", "花", "20260217", "\ud83e", "20260217T090000.000000Z-"])
def test_nothing_comes_after_something_else_than_a_row(after: str) -> None:
    assert not is_usage_row_id(after)
    with pytest.raises(Invalid) as refusal:
        usage_row_id_bounds(None, None, after)
    assert (refusal.value.field, bool(refusal.value.cure)) == ("after", True)


def test_a_period_begins_so_long_ago() -> None:
    begins = {period: period.since(NOW) for period in Period}
    assert begins == {
        Period.LAST_HOUR: datetime(2026, 2, 17, 8, tzinfo=UTC),
        Period.LAST_DAY: datetime(2026, 2, 16, 9, tzinfo=UTC),
        Period.LAST_WEEK: datetime(2026, 2, 10, 9, tzinfo=UTC),
        Period.LAST_MONTH: datetime(2026, 1, 18, 9, tzinfo=UTC),
        Period.ALL: None,
    }


@pytest.mark.parametrize(
    ("state", "usage", "held"),
    [
        (CallState.UNKNOWN, Usage(), 7),
        (CallState.FAILED, Usage(), 7),
        (CallState.FAILED, Usage(input_tokens=1), 0),
        (CallState.FAILED, Usage(reported_micro_usd=7), 0),
        (CallState.COMPLETED, Usage(), 0),
    ],
)
def test_a_call_without_an_answer_that_nobody_counted_is_unconfirmed(
    state: CallState, usage: Usage, held: int
) -> None:
    assert row(state=state, usage=usage, cost=7).unconfirmed_micro_usd == held


def test_the_turn_of_a_call_is_read_from_its_id() -> None:
    found = row(turn_id="t-1-x")
    assert turn_of_ledger_row(found.id) == "t-1-x"
    for text in ("", "t1", "20260217T090000.000000Z--0001", found.id + "x"):
        with pytest.raises(Invalid) as refusal:
            turn_of_ledger_row(text)
        assert (refusal.value.field, bool(refusal.value.cure)) == ("call", True)


def test_what_is_not_known_of_a_call_is_not_stored() -> None:
    stored = row().model_dump()
    assert not {"provider_call_id", "settlement"} & stored.keys()
