"""A table of DynamoDB in memory: what it stores, refuses and answers, without a network.

The contracts of all ports are held against it as against moto. `tests/scale/network.py` puts time
between it and the adapters.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from threading import RLock
from typing import Any

from botocore.exceptions import ClientError
from pynamodb.exceptions import CancellationReason, VerboseClientError

from opencrab.adapters.dynamodb.item import Item
from tests.aws_home import INDEXES
from tests.scale.expressions import change, comparable, holds

Key = tuple[str, str]
Arguments = dict[str, Any]

_KINDS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}
_ITEM_BYTES = 400 * 1024


class MemoryTable:
    """`opencrab.adapters.dynamodb.table.Dispatch` on dictionaries; each call is atomic."""

    def __init__(self) -> None:
        self.items: dict[Key, Item] = {}
        self._one_call = RLock()
        self._sorted: dict[str, list[str]] = defaultdict(list)
        self._indexes: dict[str, dict[str, list[tuple[Any, Key]]]] = {
            name: defaultdict(list) for name in INDEXES
        }

    def clear(self) -> None:
        """Forget every item."""
        self.items.clear()
        self._sorted.clear()
        for entries in self._indexes.values():
            entries.clear()

    def fill(self, items: Iterable[Item]) -> None:
        """Put items as they are."""
        for item in items:
            self._put(key_of(item), dict(item))

    def __call__(self, operation: str, arguments: Arguments) -> dict[str, Any]:
        """Do a call; raise as pynamodb's connection does."""
        with self._one_call:
            return self._done(operation, arguments)

    def _done(self, operation: str, arguments: Arguments) -> dict[str, Any]:
        match operation:
            case "GetItem":
                found = self.items.get(key_of(arguments["Key"]))
                return {} if found is None else {"Item": dict(found)}
            case "BatchGetItem":
                return self._many(arguments)
            case "Query":
                return self._query(arguments)
            case "TransactWriteItems":
                return self._transact(arguments)
            case "Scan":
                return {"Items": [dict(item) for item in self.items.values()]}
            case _:
                return self._write(operation, arguments)

    def _many(self, arguments: Arguments) -> dict[str, Any]:
        ((table, asked),) = arguments["RequestItems"].items()
        found = (self.items.get(key_of(key)) for key in asked["Keys"])
        return {"Responses": {table: [dict(item) for item in found if item is not None]}}

    def _write(self, operation: str, arguments: Arguments) -> dict[str, Any]:
        key, before = written_key(arguments), self.items.get(written_key(arguments))
        if not self._may(arguments, before):
            response: dict[str, Any] = {
                "Error": {"Code": "ConditionalCheckFailedException", "Message": "refused"}
            }
            if before is not None:
                response["Item"] = dict(before)
            raise client_error(operation, response)
        self._put(key, self._after(operation, arguments, before))
        wanted = arguments.get("ReturnValues", "NONE")
        shown = {"ALL_NEW": self.items.get(key), "ALL_OLD": before}.get(wanted)
        return {} if shown is None else {"Attributes": dict(shown)}

    def _transact(self, arguments: Arguments) -> dict[str, Any]:
        writes = [next(iter(each.items())) for each in arguments["TransactItems"]]
        keys = [written_key(given) for _, given in writes]
        assert len(set(keys)) == len(keys), f"a transaction names an item twice: {keys}"
        before = [self.items.get(key) for key in keys]
        allowed = [self._may(given, old) for (_, given), old in zip(writes, before, strict=True)]
        if not all(allowed):
            raise cancelled(
                [
                    None if fine else ("ConditionalCheckFailed", old)
                    for fine, old in zip(allowed, before, strict=True)
                ]
            )
        for (kind, given), key, old in zip(writes, keys, before, strict=True):
            if kind in _KINDS:
                self._put(key, self._after(_KINDS[kind], given, old))
        return {}

    def _may(self, given: Arguments, before: Item | None) -> bool:
        names = _names(given)
        return holds(
            given.get("ConditionExpression"),
            before,
            names,
            given.get("ExpressionAttributeValues", {}),
        )

    def _after(self, operation: str, given: Arguments, before: Item | None) -> Item | None:
        if operation == "DeleteItem":
            return None
        if operation == "PutItem":
            return dict(given["Item"])
        item = dict(before or given["Key"])
        change(
            given["UpdateExpression"],
            item,
            _names(given),
            given.get("ExpressionAttributeValues", {}),
        )
        return item

    def _put(self, key: Key, item: Item | None) -> None:
        before = self.items.pop(key, None)
        if before is not None and item is None:
            partition = self._sorted[key[0]]
            del partition[bisect_left(partition, key[1])]
        if before is None and item is not None:
            insort(self._sorted[key[0]], key[1])
        if item is not None:
            self.items[key] = item
        for name, (hashed, ranged) in INDEXES.items():
            old, new = _entry(before, hashed, ranged), _entry(item, hashed, ranged)
            if old != new:
                if old is not None:
                    entries = self._indexes[name][old[0]]
                    del entries[bisect_left(entries, (old[1], key))]
                if new is not None:
                    insort(self._indexes[name][new[0]], (new[1], key))

    def _query(self, arguments: Arguments) -> dict[str, Any]:
        index = arguments.get("IndexName")
        limit = arguments.get("Limit")
        found, last = list[Item](), None
        matching = self._in_index(index, arguments) if index else self._in_partition(arguments)
        for key in matching:
            if limit is not None and len(found) >= limit:
                break
            item = self.items[key]
            kept = (*INDEXES[index], "pk", "sk") if index else tuple(item)
            found.append({name: item[name] for name in kept})
            last = key
        more = limit is not None and len(found) >= limit
        if not more or last is None:
            return {"Items": found}
        item = self.items[last]
        names = (*INDEXES[index], "pk", "sk") if index else ("pk", "sk")
        return {"Items": found, "LastEvaluatedKey": {name: item[name] for name in names}}

    def _in_partition(self, arguments: Arguments) -> Iterator[Key]:
        pk = _partition_asked(arguments, "pk")["S"]
        keys = self._sorted.get(pk, [])
        start, backwards = (
            arguments.get("ExclusiveStartKey"),
            not arguments.get("ScanIndexForward", True),
        )
        if backwards:
            end = bisect_left(keys, start["sk"]["S"]) if start else len(keys)
            chosen = keys[:end][::-1]
        else:
            begin = bisect_right(keys, start["sk"]["S"]) if start else 0
            chosen = keys[begin:]
        return ((pk, sk) for sk in chosen if self._matches((pk, sk), arguments))

    def _in_index(self, index: str, arguments: Arguments) -> Iterator[Key]:
        hashed, ranged = INDEXES[index]
        entries = self._indexes[index].get(_partition_asked(arguments, hashed)["S"], [])
        start = arguments.get("ExclusiveStartKey")
        begin = 0
        if start:
            begin = bisect_right(entries, (comparable(start[ranged]), key_of(start)))
        for _, key in entries[begin:]:
            if self._matches(key, arguments):
                yield key
            elif ranged == "due_at":
                return  # they are sorted, and only an upper bound is asked for

    def _matches(self, key: Key, arguments: Arguments) -> bool:
        return holds(
            arguments["KeyConditionExpression"],
            self.items[key],
            _names(arguments),
            arguments["ExpressionAttributeValues"],
        )


def key_of(item: Item) -> Key:
    """An item's key."""
    return item["pk"]["S"], item["sk"]["S"]


def written_key(given: Arguments) -> Key:
    """The key of the item that a write is about."""
    return key_of(given.get("Key") or given["Item"])


def client_error(operation: str, response: dict[str, Any]) -> VerboseClientError:
    """An error as pynamodb raises it, with botocore's as its cause."""
    made = VerboseClientError({"Error": response["Error"]}, operation)
    made.__cause__ = ClientError(response, operation)
    return made


def cancelled(reasons: list[tuple[str, Item | None] | None]) -> VerboseClientError:
    """A transaction that was cancelled, with a reason for each of its items."""
    error = {"Code": "TransactionCanceledException", "Message": "cancelled"}
    return VerboseClientError(
        {"Error": error},
        "TransactWriteItems",
        cancellation_reasons=[
            None if why is None else CancellationReason(code=why[0], message="", raw_item=why[1])
            for why in reasons
        ],
    )


def _names(given: Arguments) -> dict[str, str]:
    names: dict[str, str] = given.get("ExpressionAttributeNames", {})
    return names


def _partition_asked(arguments: Arguments, hashed: str) -> dict[str, str]:
    """The value of the partition key in a key condition: it comes first, and is an equality."""
    words = arguments["KeyConditionExpression"].replace("(", " ").split()
    assert _names(arguments)[words[0]] == hashed, arguments
    value: dict[str, str] = arguments["ExpressionAttributeValues"][words[2].strip(")")]
    return value


def _entry(item: Item | None, hashed: str, ranged: str) -> tuple[str, Any] | None:
    if item is None or hashed not in item or ranged not in item:
        return None
    return item[hashed]["S"], comparable(item[ranged])
