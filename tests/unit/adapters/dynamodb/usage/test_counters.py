"""Tallies in the table: spread over a few items, never in the way of an answer that was paid."""

import json
from datetime import timedelta
from typing import Any

import pytest

from opencrab.adapters.dynamodb.item import Item, item_time_to_live, to_dynamodb_attribute
from opencrab.adapters.dynamodb.table import PATIENT_PAUSES, PAUSES, put_item
from opencrab.adapters.dynamodb.usage.counters import SCHEMA, SHARDS, DynamoTallies
from opencrab.adapters.dynamodb.usage.ledger import JUDGING, DynamoUsage, usage_row_to_dynamodb_item
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.counters import (
    ACTIVE_KEPT,
    DailyTally,
    merge_usage_tallies,
    usage_tally_of_call,
)
from opencrab.domain.usage.ledger import Judgement, UsageRow
from tests.contract.example import NOW, admission, later, session, step, turn, usage_row
from tests.unit.adapters.dynamodb.wire import CONFLICT, Dynamo, cancels

DAY = "2026-02-17"
GRADE = Judgement(quality_score=0.9)


def running(dynamo: Dynamo, turn_id: str = "t1") -> Turn:
    """A turn in the hands of a worker of this process."""
    dynamo.stores.journal.admit(admission(turn(turn_id), message_id=turn_id))
    claimed = dynamo.stores.journal.claim(turn_id, lease_until=later(120), receipt="r")
    assert claimed is not None
    return claimed.turn


def counters(dynamo: Dynamo) -> list[Item]:
    return dynamo.table.query("TALLY#hana", "0", "~")


def told(dynamo: Dynamo) -> tuple[DailyTally, ...]:
    return DynamoTallies(dynamo.table).between("hana", DAY, DAY)


def test_turns_count_in_different_items_and_each_call_in_one(dynamo: Dynamo) -> None:
    dynamo.stores.sessions.create(session())
    rows = [usage_row(n, turn_id=f"t{name}") for name in range(8) for n in (1, 2)]
    for start in range(0, len(rows), 2):
        first, second = rows[start : start + 2]
        dynamo.stores.journal.commit(step(running(dynamo, first.turn_id), usage=(first, second)))
        writes = dynamo.wire.calls[-1][1]["TransactItems"]
        keys = [write["Update"]["Key"]["pk"]["S"] for write in writes if "Update" in write]
        assert keys.count("TALLY#hana") == 1
    assert 1 < len(counters(dynamo)) <= SHARDS
    assert told(dynamo) == merge_usage_tallies(map(usage_tally_of_call, rows))
    assert len(told(dynamo)) == 1


def test_what_was_counted_never_expires_and_who_was_active_does(dynamo: Dynamo) -> None:
    dynamo.stores.sessions.create(session())
    current = running(dynamo)
    dynamo.stores.journal.commit(step(current, usage=(usage_row(1),), at=NOW))
    (item,) = counters(dynamo)
    assert "ttl" not in item
    active = dynamo.table.get(f"ACTIVE#{DAY}", "hana")
    assert active is not None
    assert active["ttl"] == to_dynamodb_attribute(item_time_to_live(NOW + ACTIVE_KEPT))


def early(dynamo: Dynamo, row: UsageRow, shard: int) -> None:
    """A row and its count as an early release kept them: it expires, and tells less."""
    dynamo.table.write(put_item(usage_row_to_dynamodb_item(row)))
    tally = usage_tally_of_call(row)
    counts = {
        f"n_{name}": count
        for name, count in tally.counts.items()
        if name not in {"full", "unconfirmed", "rated", "quality"}
    }
    fields = {"cell": tally.cell.model_dump_json(), "ttl": 1_900_000_000, **counts}
    place = f"{tally.day}#{tally.cell.id}#{shard}"
    dynamo.table.write(put_item(SCHEMA.encode_item("TALLY#hana", place, fields)))


def test_a_day_of_an_early_release_is_counted_anew_and_kept_for_ever(dynamo: Dynamo) -> None:
    rows = [usage_row(1), usage_row(2, state=CallState.UNKNOWN, usage=Usage(), quality_score=0.5)]
    for shard, row in enumerate(rows, 1):
        early(dynamo, row, shard)
    assert not any(one.is_full for one in told(dynamo))
    (found,) = DynamoTallies(dynamo.table).recount("hana", DAY, iter(rows))
    assert found.counts == merge_usage_tallies(map(usage_tally_of_call, rows))[0].counts
    assert found.is_full
    assert [one.counts for one in told(dynamo)] == [found.counts]
    assert not [item for item in counters(dynamo) if "ttl" in item]


def test_a_paid_answer_is_kept_however_often_others_count_at_the_same_time(dynamo: Dynamo) -> None:
    dynamo.stores.sessions.create(session())
    current = running(dynamo)
    # First comes the mark that the agent was active on this day, which may be given up.
    mark = len(PAUSES)
    dynamo.fails(*[cancels(CONFLICT)] * (mark + 1 + len(PATIENT_PAUSES)))
    dynamo.stores.journal.commit(step(current, usage=(usage_row(1),)))
    assert len(PAUSES) < len(dynamo.pauses) - mark == len(PATIENT_PAUSES)
    assert sum(PATIENT_PAUSES) < 10
    assert [tally.counts["calls"] for tally in told(dynamo)] == [1]


def test_what_cost_nothing_is_given_up_sooner(dynamo: Dynamo) -> None:
    dynamo.stores.sessions.create(session())
    current = running(dynamo)
    dynamo.fails(*[cancels(CONFLICT)] * (len(PAUSES) + 1))
    with pytest.raises(Unavailable, match="retries exhausted"):
        dynamo.stores.journal.commit(step(current))


def kept(dynamo: Dynamo, row: UsageRow, **said: Any) -> Item:
    """A row as other code wrote it, in other words than ours."""
    item = usage_row_to_dynamodb_item(row)
    body = json.dumps(json.loads(item["body"]["S"]) | said, indent=1)
    dynamo.table.write(put_item(item | {"body": {"S": body}}))
    return item


def test_a_judgement_of_a_row_that_other_code_wrote_is_kept(dynamo: Dynamo) -> None:
    row = usage_row(1)
    kept(dynamo, row, fault=None)
    ledger = DynamoUsage(dynamo.table, FakeClock(NOW))
    assert ledger.judge("hana", row.id, GRADE).quality_score == GRADE.quality_score
    assert ledger.row("hana", row.id).quality_score == GRADE.quality_score


def test_a_row_that_changes_meanwhile_is_judged_all_the_same_or_not_at_all(dynamo: Dynamo) -> None:
    row = usage_row(1)
    kept(dynamo, row)
    ledger, others = DynamoUsage(dynamo.table, FakeClock(NOW)), dynamo.behind(dynamo.real)
    changed = [
        lambda n=n: others.write(put_item(usage_row_to_dynamodb_item(row.replaced(latency_ms=n))))
        for n in range(JUDGING)
    ]
    dynamo.wire.before("TransactWriteItems", *changed)
    with pytest.raises(Unavailable, match="retries exhausted"):
        ledger.judge("hana", row.id, GRADE)
    assert ledger.row("hana", row.id).quality_score is None
    dynamo.wire.before("TransactWriteItems", changed[0])
    judged = ledger.judge("hana", row.id, GRADE)
    assert (judged.quality_score, judged.latency_ms) == (0.9, 0)
    assert ledger.row("hana", row.id) == judged


def test_a_judgement_that_the_network_carried_twice_is_one(dynamo: Dynamo) -> None:
    row = usage_row(1)
    kept(dynamo, row)
    judged = usage_row_to_dynamodb_item(row.with_judgement(GRADE))
    dynamo.wire.before(
        "TransactWriteItems", lambda: dynamo.behind(dynamo.real).write(put_item(judged))
    )
    ledger = DynamoUsage(dynamo.table, FakeClock(NOW + timedelta(hours=1)))
    assert ledger.judge("hana", row.id, GRADE) == row.with_judgement(GRADE)
