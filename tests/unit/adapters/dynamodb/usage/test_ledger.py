"""Usage rows in the table: small, and found with few questions whatever an agent's age."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.item import item_time_to_live, to_dynamodb_attribute
from opencrab.adapters.dynamodb.usage.ledger import (
    DynamoUsage,
    usage_row_from_dynamodb_item,
    usage_row_to_dynamodb_item,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.ledger import Judgement, Settlement, UsageRow
from tests.contract.example import NOW, admission, later, profile, session, step, turn, usage_row
from tests.unit.adapters.dynamodb.turn.test_header import size_of
from tests.unit.adapters.dynamodb.wire import Dynamo

KEPT = timedelta(days=400)
ONE_ID = "01kh2m6z7f3w9x0yq4c8e5rtvb"


def kept(dynamo: Dynamo, *rows: UsageRow) -> None:
    """Rows as if turns had written them."""
    client = dynamo.account.client("dynamodb")
    for row in rows:
        client.put_item(TableName=dynamo.name, Item=usage_row_to_dynamodb_item(row))
    dynamo.wire.calls.clear()


def ledger(dynamo: Dynamo, now: datetime = NOW) -> DynamoUsage:
    return DynamoUsage(dynamo.table, FakeClock(now))


def test_a_usual_row_fits_into_one_write_unit() -> None:
    price = Price(
        input_per_million=3_000_000,
        output_per_million=15_000_000,
        cached_per_million=300_000,
        cache_write_per_million=3_750_000,
        cache_write_long_per_million=6_000_000,
    )
    row = usage_row(
        at=NOW + timedelta(microseconds=123_456),
        agent_id=ONE_ID,
        session_id=ONE_ID,
        turn_id=ONE_ID,
        model="anthropic/claude-sonnet-4.5-20250929",
        price=price,
    )
    assert size_of(usage_row_to_dynamodb_item(row, KEPT)) <= 1_024
    assert usage_row_from_dynamodb_item(usage_row_to_dynamodb_item(row)) == row


def test_a_row_expires_if_it_is_wanted_also_after_a_change(dynamo: Dynamo) -> None:
    stores = stores_on_dynamodb_table(dynamo.table, calls_kept=KEPT)
    stores.sessions.create(session())
    stores.journal.admit(admission(turn("t1"), message_id="m1"))
    claimed = stores.journal.claim("t1", lease_until=later(120), receipt="r")
    assert claimed is not None
    stores.journal.commit(step(claimed.turn, usage=(usage_row(1), lost())))
    usage = DynamoUsage(dynamo.table, FakeClock(NOW), calls_kept=KEPT)
    usage.judge("hana", usage_row(1).id, Judgement(quality_score=0.5))
    usage.settle("hana", lost().id, Settlement(cost=1, held=9_000, by="所有者", at=NOW))
    items = dynamo.table.query("USAGE#hana#2026-02", "0", "~")
    expected = to_dynamodb_attribute(item_time_to_live(NOW + KEPT))
    assert [item["ttl"] for item in items] == [expected, expected]
    assert usage.rows("hana")[0].settlement is not None


def lost() -> UsageRow:
    return usage_row(2, state=CallState.UNKNOWN, usage=Usage(), cost=9_000)


def test_a_row_never_expires_and_says_nothing_twice() -> None:
    item = usage_row_to_dynamodb_item(usage_row())
    assert item.keys() == {"pk", "sk", "schema", "body"}
    assert item["pk"]["S"] == "USAGE#hana#2026-02"
    assert item["sk"]["S"] == "20260217T090000.000000Z-t1-0001"
    assert "hana" not in item["body"]["S"]


def test_a_row_of_a_newer_version_is_not_read() -> None:
    with pytest.raises(Unavailable, match="newer version"):
        usage_row_from_dynamodb_item(
            usage_row_to_dynamodb_item(usage_row()) | {"schema": {"N": "2"}}
        )


def test_a_page_of_this_month_is_one_question(dynamo: Dynamo) -> None:
    kept(dynamo, usage_row(1), usage_row(2))
    assert len(ledger(dynamo).rows("hana", limit=2)) == 2
    assert dynamo.wire.operations == ["Query"]


def test_months_are_walked_back_to_the_agents_first(dynamo: Dynamo) -> None:
    born = datetime(2030, 10, 15, tzinfo=UTC)
    stores_on_dynamodb_table(dynamo.table).agents.create(profile(created_at=born))
    first = usage_row(1, at=born + timedelta(hours=1))
    kept(dynamo, first)
    old = ledger(dynamo, datetime(2031, 2, 15, tzinfo=UTC))
    assert old.rows("hana") == (first,)
    assert dynamo.wire.operations == ["Query", "GetItem", *["Query"] * 4]
    dynamo.wire.calls.clear()
    assert old.rows("hana", limit=0) == old.rows("hana", limit=0, oldest_first=True) == ()
    assert dynamo.wire.operations == []


def test_months_are_walked_up_from_the_agents_first_as_far_as_rows_are_wanted(
    dynamo: Dynamo,
) -> None:
    born = datetime(2030, 10, 15, tzinfo=UTC)
    stores_on_dynamodb_table(dynamo.table).agents.create(profile(created_at=born))
    first, second = usage_row(1, at=born), usage_row(2, at=born + timedelta(days=40))
    kept(dynamo, first, second)
    old = ledger(dynamo, datetime(2031, 2, 15, tzinfo=UTC))
    assert old.rows("hana", oldest_first=True) == (first, second)
    assert dynamo.wire.operations == ["GetItem", *["Query"] * 5]
    dynamo.wire.calls.clear()
    assert old.rows("hana", oldest_first=True, limit=1) == (first,)
    assert dynamo.wire.operations == ["GetItem", "Query"]


def test_what_comes_after_a_place_of_this_month_is_one_question(dynamo: Dynamo) -> None:
    kept(dynamo, usage_row(1), usage_row(2))
    found = ledger(dynamo).rows("hana", after=usage_row(1).id, oldest_first=True)
    assert found == (usage_row(2),)
    assert dynamo.wire.operations == ["Query"]


def test_no_bound_however_far_makes_it_ask_more(dynamo: Dynamo) -> None:
    kept(dynamo, usage_row(1))
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    assert len(ledger(dynamo).rows("hana", since=first, until=last)) == 1
    assert dynamo.wire.operations == ["Query", "GetItem", "Query"]
    dynamo.wire.calls.clear()
    assert len(ledger(dynamo).rows("hana", since=first, until=last, oldest_first=True)) == 1
    assert dynamo.wire.operations == ["GetItem", "Query", "Query"]


def test_a_span_asks_only_its_months(dynamo: Dynamo) -> None:
    kept(dynamo, usage_row(1))
    now = datetime(2026, 12, 1, tzinfo=UTC)
    since, until = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 28, tzinfo=UTC)
    assert len(ledger(dynamo, now).rows("hana", since=since, until=until)) == 1
    assert dynamo.wire.operations == ["Query"]
