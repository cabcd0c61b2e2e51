"""The table: what each refusal of DynamoDB means, and what is asked again."""

from typing import Any

import pytest
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import (
    PAUSES,
    TRANSACTION_ITEMS,
    Cancelled,
    ConditionFailed,
    Dispatch,
    Write,
    delete_dynamodb_item,
    dynamodb_attribute_changes,
    item_absent,
    put_item,
    update_item,
)
from opencrab.domain.errors import OpenCrabError, TooLarge, Unavailable
from tests.aws_faults import Fault, answer_is_lost, never_arrives, refuses
from tests.contract.example import ENGLISH, JAPANESE
from tests.unit.adapters.dynamodb.wire import CONFLICT, NONE, Dynamo, cancels

CONDITION = "ConditionalCheckFailed"
TRIES = len(PAUSES) + 1


def item(sk: str = "1", text: str = JAPANESE) -> Item:
    return {"pk": {"S": "P"}, "sk": {"S": sk}, "text": {"S": text}}


def new(sk: str = "1") -> Write:
    return put_item(item(sk), item_absent())


def test_a_failed_condition_tells_what_is_stored_instead(dynamo: Dynamo) -> None:
    dynamo.table.write(new())
    with pytest.raises(ConditionFailed) as caught:
        dynamo.table.write(put_item(item(text=ENGLISH), item_absent()))
    assert caught.value.item == item()
    assert dynamo.table.get("P", "1") == item()


def test_a_failed_condition_on_nothing_tells_nothing(dynamo: Dynamo) -> None:
    change = dynamodb_attribute_changes({"text": ENGLISH})
    with pytest.raises(ConditionFailed) as caught:
        dynamo.table.write(update_item("P", "1", change, Path("pk").exists()))
    assert caught.value.item is None


def test_a_cancelled_transaction_tells_by_place_what_is_stored(dynamo: Dynamo) -> None:
    dynamo.table.write(new("2"))
    with pytest.raises(Cancelled) as caught:
        dynamo.table.transact(
            new("1"),
            new("2"),
            update_item("P", "3", dynamodb_attribute_changes({"text": "x"}), Path("pk").exists()),
        )
    assert caught.value.failed == {1: item("2"), 2: None}
    assert dynamo.table.get("P", "1") is None


def test_of_mixed_reasons_the_failed_conditions_count(dynamo: Dynamo) -> None:
    throttled = ("ThrottlingError", "Throughput exceeds", None)
    dynamo.fails(cancels(NONE, CONFLICT, (CONDITION, "failed", item("3")), throttled))
    with pytest.raises(Cancelled) as caught:
        dynamo.table.transact(new("1"), new("2"), new("3"), new("4"))
    assert caught.value.failed == {2: item("3")}
    assert len(dynamo.wire.calls) == 1, "a new try would fail the same way"


CONFLICTS = {
    "transaction": cancels(NONE, CONFLICT),
    "single": refuses(400, "TransactionConflictException"),
    "in progress": refuses(400, "TransactionInProgressException"),
}


@pytest.mark.parametrize("conflict", CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_is_tried_again(dynamo: Dynamo, conflict: Fault) -> None:
    dynamo.fails(*[conflict] * len(PAUSES))
    dynamo.table.transact(new("1"), new("2"))
    assert dynamo.table.get("P", "2") == item("2")
    assert len(dynamo.pauses) == len(PAUSES)


@pytest.mark.parametrize("conflict", CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_that_stays_is_unavailable_within_two_seconds(
    dynamo: Dynamo, conflict: Fault
) -> None:
    dynamo.fails(*[conflict] * TRIES)
    with pytest.raises(Unavailable, match="retries exhausted"):
        dynamo.table.transact(new())
    assert len(dynamo.wire.calls) == TRIES == 8
    assert all(0 < slept <= longest for slept, longest in zip(dynamo.pauses, PAUSES, strict=True))
    assert sum(PAUSES) < 2
    assert dynamo.table.get("P", "1") is None


REFUSALS = {
    "throttled": refuses(400, "ThrottlingException", "Rate exceeded"),
    "throughput": refuses(400, "ProvisionedThroughputExceededException"),
    "limit": refuses(400, "RequestLimitExceeded"),
    "5xx": refuses(500, "InternalServerError"),
    "503": refuses(503, "ServiceUnavailable"),
    "denied": refuses(400, "AccessDeniedException", "no dynamodb:PutItem"),
    "no table": refuses(400, "ResourceNotFoundException"),
    "no key": refuses(400, "UnrecognizedClientException"),
    "throttled within": cancels(("ThrottlingError", "Throughput exceeds", None)),
    "never sent": never_arrives,
    "lost": answer_is_lost,
}


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_what_may_pass_or_be_mended_is_unavailable(dynamo: Dynamo, fault: Fault) -> None:
    dynamo.fails(fault)
    with pytest.raises(Unavailable) as caught:
        dynamo.table.transact(new())
    assert dynamo.name in caught.value.message
    assert caught.value.cure
    assert JAPANESE not in caught.value.message
    assert dynamo.pauses == []


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_so_it_is_for_reads(dynamo: Dynamo, fault: Fault) -> None:
    for read in (
        lambda: dynamo.table.get("P", "1"),
        lambda: dynamo.table.query("P", "0", "9"),
        lambda: dynamo.table.get_many([("P", "1")]),
    ):
        dynamo.fails(fault)
        with pytest.raises(Unavailable):
            read()


def test_a_lost_answer_may_have_been_a_write(dynamo: Dynamo) -> None:
    dynamo.fails(answer_is_lost)
    with pytest.raises(Unavailable):
        dynamo.table.write(new())
    assert dynamo.table.get("P", "1") == item()


def test_an_item_over_400_kilobytes_is_too_large(dynamo: Dynamo) -> None:
    large = "花" * (140 * 1_024)
    with pytest.raises(TooLarge) as caught:
        dynamo.table.write(put_item(item(text=large)))
    assert caught.value.cure
    assert "花" not in caught.value.message
    size = "Item size to update has exceeded the maximum allowed size"
    dynamo.fails(cancels(NONE, ("ValidationError", size, None)))
    with pytest.raises(TooLarge):
        dynamo.table.transact(new("1"), new("2"))


def test_a_change_of_more_than_25_items_is_a_mistake_of_ours(dynamo: Dynamo) -> None:
    dynamo.table.transact(*(new(str(number)) for number in range(TRANSACTION_ITEMS)))
    with pytest.raises(AssertionError, match="26 items"):
        dynamo.table.transact(*(new(f"x{number}") for number in range(TRANSACTION_ITEMS + 1)))


def filled(dynamo: Dynamo, count: int) -> list[Item]:
    """So many items of one partition."""
    items = [item(f"{number:03d}") for number in range(count)]
    for start in range(0, count, TRANSACTION_ITEMS):
        dynamo.table.transact(*map(put_item, items[start : start + TRANSACTION_ITEMS]))
    dynamo.wire.calls.clear()
    return items


def in_pages(real: Dispatch, size: int) -> Dispatch:
    """DynamoDB whose pages are full early, as after a megabyte."""

    def dispatch(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        wanted = arguments.get("Limit", size)
        return real(operation, arguments | {"Limit": min(wanted, size)})

    return dispatch


@pytest.mark.parametrize("limit", [None, 1, 2, 3, 5, 7, 9])
@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_are_read_on_until_the_limit(
    dynamo: Dynamo, limit: int | None, *, newest_first: bool
) -> None:
    items = filled(dynamo, 7)
    table = dynamo.behind(in_pages(dynamo.real, 2))
    found = table.query("P", "000", "999", limit=limit, newest_first=newest_first)
    expected = items[::-1] if newest_first else items
    assert found == expected[:limit]


def test_a_limit_is_told_to_dynamodb_so_that_no_more_is_read(dynamo: Dynamo) -> None:
    filled(dynamo, 7)
    dynamo.wire.calls.clear()
    assert len(dynamo.table.query("P", "000", "999", limit=3)) == 3
    assert [arguments["Limit"] for _, arguments in dynamo.wire.calls] == [3]


def test_a_prefix_is_found_across_pages(dynamo: Dynamo) -> None:
    items = filled(dynamo, 12)
    table = dynamo.behind(in_pages(dynamo.real, 2))
    assert table.query_prefix("P", "00") == items[:10]
    assert table.query_prefix("P", "00", limit=3) == items[:3]


def test_many_items_are_asked_for_a_hundred_at_a_time_and_each_once(dynamo: Dynamo) -> None:
    items = filled(dynamo, 120)
    keys = [("P", one["sk"]["S"]) for one in items]
    found = dynamo.table.get_many([*keys[:2], *keys, ("P", "none")])
    assert [found[key] for key in keys] == items
    assert len(found) == 120
    sizes = [
        len(arguments["RequestItems"][dynamo.name]["Keys"]) for _, arguments in dynamo.wire.calls
    ]
    assert sizes == [98, 23], "two of the first hundred were asked for twice"


class Hesitant:
    """DynamoDB that answers only some of the keys of a batch."""

    def __init__(self, real: Dispatch, answers: int) -> None:
        self.asked: list[int] = []
        self._real = real
        self._answers = answers

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        ((name, wanted),) = arguments["RequestItems"].items()
        keys = wanted["Keys"]
        self.asked.append(len(keys))
        now, later = keys[: self._answers], keys[self._answers :]
        answer: dict[str, Any] = {"Responses": {name: []}}
        if now:
            answer = self._real(operation, {"RequestItems": {name: wanted | {"Keys": now}}})
        return answer | {"UnprocessedKeys": {name: {"Keys": later}} if later else {}}


def test_keys_that_were_not_processed_are_asked_for_again(dynamo: Dynamo) -> None:
    items = filled(dynamo, 5)
    hesitant = Hesitant(dynamo.real, 2)
    found = dynamo.behind(hesitant).get_many([("P", one["sk"]["S"]) for one in items])
    assert list(found.values()) == items
    assert hesitant.asked == [5, 3, 1]
    assert len(dynamo.pauses) == 2


def test_keys_that_are_never_processed_are_unavailable(dynamo: Dynamo) -> None:
    hesitant = Hesitant(dynamo.real, 0)
    with pytest.raises(Unavailable):
        dynamo.behind(hesitant).get_many([("P", "1")])
    assert len(hesitant.asked) == TRIES


def test_no_keys_cost_no_call(dynamo: Dynamo) -> None:
    assert dynamo.table.get_many([]) == {}
    assert dynamo.table.query("P", "0", "9", limit=0) == []
    assert dynamo.wire.calls == []


def test_what_is_removed_is_gone_and_none_removes_one_attribute(dynamo: Dynamo) -> None:
    dynamo.table.write(new())
    changed = dynamo.table.write(
        update_item("P", "1", dynamodb_attribute_changes({"text": None, "n": 3})), answer="ALL_NEW"
    )
    assert changed == {"pk": {"S": "P"}, "sk": {"S": "1"}, "n": {"N": "3"}}
    dynamo.table.write(delete_dynamodb_item("P", "1"))
    assert dynamo.table.get("P", "1") is None


def test_every_refusal_is_one_of_our_errors() -> None:
    assert issubclass(Unavailable, OpenCrabError)
    assert issubclass(TooLarge, OpenCrabError)
