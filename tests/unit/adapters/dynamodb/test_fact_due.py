"""Facts by their time: what a look costs among ten thousand, and an index that is behind."""

from collections import defaultdict
from typing import Any

import pytest

from opencrab.adapters.dynamodb.document import (
    DUE_SHARDS,
    SCHEMA,
    DynamoFacts,
    dynamodb_document_writes,
)
from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import Table, dynamodb_attribute_changes, update_item
from tests.bench.units import Meter
from tests.contract.example import NOW, fact, later
from tests.unit.adapters.dynamodb.wire import Dynamo

AGENTS, DUE = 10_000, 100


class Stub:
    """A table of which only the index of due times and reads by key are asked."""

    def __init__(self, *items: Item) -> None:
        self._items = {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
        self._index: defaultdict[str, list[Item]] = defaultdict(list)
        for item in sorted(items, key=lambda each: int(each["due_at"]["N"])):
            self._index[item["due_list"]["S"]].append(item)

    def __call__(self, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer as DynamoDB would."""
        if operation == "BatchGetItem":
            ((table, wanted),) = asked["RequestItems"].items()
            keys = [(key["pk"]["S"], key["sk"]["S"]) for key in wanted["Keys"]]
            return {"Responses": {table: [self._items[key] for key in keys]}}
        values = asked["ExpressionAttributeValues"].values()
        (name,) = [value["S"] for value in values if "S" in value]
        (before,) = [int(value["N"]) for value in values if "N" in value]
        start = asked.get("ExclusiveStartKey", {}).get("place", 0)
        found = [each for each in self._index[name] if int(each["due_at"]["N"]) <= before]
        page = found[start : start + asked["Limit"]]
        place = start + len(page)
        last = {"LastEvaluatedKey": {"place": place}} if place < len(found) else {}
        return {"Items": page, **last}


def table_of_ten_thousand(due: int) -> Meter:
    """So many agents, of which some are due now and the rest in an hour."""
    moments = (later(-number) if number < due else later(3_600) for number in range(AGENTS))
    facts = (
        fact("vitals", kind="vitals", owner=f"agent-{number}", due_at=moment)
        for number, moment in enumerate(moments)
    )
    items = [
        write.arguments["Item"] for each in facts for write in dynamodb_document_writes((each,))
    ]
    return Meter(Stub(*items))


@pytest.mark.parametrize("due", [0, DUE, AGENTS])
def test_a_look_at_what_is_due_reads_that_and_not_every_agent(due: int) -> None:
    meter = table_of_ten_thousand(due)
    facts = DynamoFacts(Table("t", meter, pause=lambda _: None))
    found = facts.list_due("vitals", NOW, DUE)
    assert len(found) == min(due, DUE)
    assert [each.due_at for each in found] == sorted(each.due_at or NOW for each in found)
    assert len(meter.charges) <= DUE_SHARDS + 1
    assert meter.reads <= min(due, DUE) + 2 * DUE_SHARDS


def test_what_an_index_shows_too_late_is_no_longer_due(dynamo: Dynamo) -> None:
    facts = dynamo.stores.facts
    facts.commit(fact(due_at=later(1)), fact(owner="ken", due_at=later(2)))
    moved = fact(version=2, due_at=later(99))
    dynamo.wire.before("BatchGetItem", lambda: dynamo.others.facts.commit(moved))
    assert [each.owner for each in facts.list_due("note", later(9), 9)] == ["ken"]
    gone = fact(owner="ken", version=2, body=None)
    dynamo.wire.before("BatchGetItem", lambda: dynamo.others.facts.commit(gone))
    assert facts.list_due("note", later(9), 9) == ()


def test_an_item_that_the_index_shows_twice_is_one_fact(dynamo: Dynamo) -> None:
    facts = dynamo.stores.facts
    facts.commit(fact(due_at=later(1)))

    def twice(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = dynamo.real(operation, arguments)
        return answer | {"Items": answer["Items"] * 2} if operation == "Query" else answer

    behind = DynamoFacts(dynamo.behind(twice))
    assert behind.list_due("note", later(9), 9) == (fact(due_at=later(1)),)


def test_what_cannot_be_read_hides_no_other(
    dynamo: Dynamo, caplog: pytest.LogCaptureFixture
) -> None:
    facts = dynamo.stores.facts
    facts.commit(fact(due_at=later(1)), fact("b", due_at=later(2)), fact("c", due_at=later(3)))
    newer = dynamodb_attribute_changes({"schema": SCHEMA.version + 1})
    dynamo.table.write(update_item("FACT#hana", "note#a", newer))
    dynamo.table.write(
        update_item("FACT#hana", "note#b", dynamodb_attribute_changes({"body": "[]"}))
    )
    with caplog.at_level("WARNING"):
        found = facts.list_due("note", later(9), 9)
    assert [each.id for each in found] == ["c"]
    assert caplog.text.count("cannot read item") == 2


def test_several_facts_are_one_consistent_read(dynamo: Dynamo) -> None:
    dynamo.stores.facts.get_many("hana", ("note", "a"), ("vitals", "vitals"))
    ((operation, asked),) = dynamo.wire.calls
    assert operation == "BatchGetItem"
    ((_, wanted),) = asked["RequestItems"].items()
    assert wanted["ConsistentRead"]
    assert len(wanted["Keys"]) == 2
