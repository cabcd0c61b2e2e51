"""A meter of DynamoDB's units: what AWS would charge for each call, from the items it touched.

Moto's own ConsumedCapacity is not used, since it does not look at sizes and indexes. The rules are
those of the DynamoDB Developer Guide:

- "DynamoDB item sizes and formats": an item is as large as its attributes' names and values.
- "DynamoDB read and write operations": a write costs a unit per started KB of the larger of the
  item before and after, and the same when its condition fails; a strongly consistent read a unit
  per started 4 KB, an eventually consistent one half of it, and at least that; a query by the sum
  of its items, a batch item by item; in a transaction everything costs twice.
- "Using Global Secondary Indexes", on writing: one write for an entry that is new or gone, two for
  one whose key changes, none for one that stays. The guide does not say what a transaction does to
  them; measured on AWS by others, they cost the same inside as outside
  (github.com/nubo-db/dynoxide/pull/188), as AWS brings indexes up to date after the transaction.
- A condition check in a transaction costs what writing the item would
  (github.com/paritysuite/dynamodb-conformance/pull/67).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import Dispatch
from tests.aws_home import INDEXES, KEYS

WRITE_BYTES = 1_024
READ_BYTES = 4_096
_TRANSACTIONAL = 2
_CONTAINER_BYTES = 3
_WRITES = ("PutItem", "UpdateItem", "DeleteItem")

Key = tuple[str, str]


@dataclass(frozen=True)
class Part:
    """One item's part in a call."""

    kind: str
    bytes: int
    writes: int = 0
    index_writes: int = 0
    reads: float = 0


@dataclass(frozen=True)
class Charge:
    """One call and its units."""

    operation: str
    parts: tuple[Part, ...]
    refused: bool = False

    @property
    def writes(self) -> int:
        """Write units, those of the indexes included."""
        return sum(part.writes + part.index_writes for part in self.parts)

    @property
    def reads(self) -> float:
        """Read units."""
        return sum(part.reads for part in self.parts)


@dataclass
class Meter:
    """Stands between the adapters and DynamoDB and keeps a bill; its own look-ups are free."""

    dispatch: Dispatch
    charges: list[Charge] = field(default_factory=list)

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do a call and charge for it, whether it succeeds or not."""
        if operation in _WRITES or operation == "TransactWriteItems":
            return self._writing(operation, arguments)
        answer = self.dispatch(operation, arguments)
        self.charges.append(Charge(operation, _reads(operation, arguments, answer)))
        return answer

    @property
    def writes(self) -> int:
        """Write units so far."""
        return sum(charge.writes for charge in self.charges)

    @property
    def reads(self) -> float:
        """Read units so far."""
        return sum(charge.reads for charge in self.charges)

    def taken(self) -> tuple[Charge, ...]:
        """The bill so far; a new one begins."""
        taken, self.charges = tuple(self.charges), []
        return taken

    def _writing(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        table, writes = _writes(operation, arguments)
        times = _TRANSACTIONAL if operation == "TransactWriteItems" else 1
        before = self._stored(table, list(writes))
        refused = True
        try:
            answer = self.dispatch(operation, arguments)
            refused = False
        finally:
            wanted = {key: write.get("Item", before.get(key)) for key, write in writes.items()}
            after = wanted if refused else self._stored(table, list(writes))
            parts = (
                written(key, before.get(key), after.get(key), times, refused=refused)
                for key in writes
            )
            self.charges.append(Charge(operation, tuple(parts), refused))
        return answer

    def _stored(self, table: str, keys: list[Key]) -> dict[Key, Item]:
        wanted = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in keys]
        asked = {table: {"Keys": wanted, "ConsistentRead": True}}
        found = self.dispatch("BatchGetItem", {"RequestItems": asked})["Responses"].get(table, [])
        return {key_of(item): item for item in found}


def item_bytes(item: Item) -> int:
    """An item's size: names and values of its attributes."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def value_bytes(attribute: Mapping[str, Any]) -> int:
    """The size of an attribute's value; of the types that our items have."""
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "B":
            return _length(value)
        case "N":
            return _number_bytes(value)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(map(_length, value))
        case "L" | "M":
            names, values = (value, value.values()) if kind == "M" else ((), value)
            inner = sum(map(_length, names)) + sum(map(value_bytes, values))
            return _CONTAINER_BYTES + len(value) + inner
        case _:
            raise AssertionError(f"no size is known for {kind!r}")


def written(
    key: Key, before: Item | None, after: Item | None, times: int = 1, *, refused: bool = False
) -> Part:
    """What writing an item costs, its entries in the indexes included."""
    size = max(item_bytes(each) if each else 0 for each in (before, after))
    indexes = 0 if refused else sum(_index_writes(name, before, after) for name in INDEXES)
    return Part(kind_of(*key), size, times * started(size, WRITE_BYTES), indexes)


def started(size: int, unit: int) -> int:
    """Units that a size begins, at least one."""
    return max(-(-size // unit), 1)


def key_of(item: Item) -> Key:
    """An item's key."""
    return item["pk"]["S"], item["sk"]["S"]


def kind_of(pk: str, sk: str) -> str:
    """What an item is, without saying which one: `TURN H`, `SESSION L#n`, `WORKSPACE F#…`."""
    shown = re.sub(r"\d+", "n", sk if len(sk) < 16 else f"{sk[:2]}…")
    return f"{pk.partition('#')[0]} {shown}"


def _length(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


def _number_bytes(digits: str) -> int:
    significant = digits.lstrip("-").replace(".", "").strip("0")
    return 1 + -(-len(significant) // 2) + digits.startswith("-")


def _index_writes(index: str, before: Item | None, after: Item | None) -> int:
    gone, new = _entry(index, before), _entry(index, after)
    if gone == new:
        return 0
    return sum(started(item_bytes(each), WRITE_BYTES) for each in (gone, new) if each)


def _entry(index: str, item: Item | None) -> Item | None:
    """An item's entry in an index that keeps only keys; None unless it has all of them."""
    names = (*INDEXES[index], *KEYS)
    if item is None or any(name not in item for name in names):
        return None
    return {name: item[name] for name in names}


def _writes(operation: str, arguments: dict[str, Any]) -> tuple[str, dict[Key, dict[str, Any]]]:
    """The table that a call writes to, and its writes by their keys."""
    if operation in _WRITES:
        written_to: str = arguments["TableName"]
        return written_to, {_key(arguments): arguments}
    each = [one for item in arguments["TransactItems"] for one in item.values()]
    (table,) = {one["TableName"] for one in each}
    return table, {_key(one): one for one in each}


def _key(write: dict[str, Any]) -> Key:
    return key_of(write.get("Key") or write["Item"])


def _reads(operation: str, arguments: dict[str, Any], answer: dict[str, Any]) -> tuple[Part, ...]:
    match operation:
        case "GetItem":
            item = answer.get("Item")
            return (_read(_kind(arguments["Key"]), [item] if item else [], arguments),)
        case "Query":
            items = answer.get("Items", [])
            index = arguments.get("IndexName")
            found = [_entry(index, item) or item for item in items] if index else items
            return (_read(_asked(arguments), found, arguments),)
        case "BatchGetItem":
            ((table, asked),) = arguments["RequestItems"].items()
            found = {key_of(item): item for item in answer["Responses"].get(table, [])}
            keys = [(key_of(key), found.get(key_of(key))) for key in asked["Keys"]]
            return tuple(_read(kind_of(*key), [i] if i else [], asked) for key, i in keys)
        case _:
            raise AssertionError(f"no price is known for {operation!r}")


def _read(kind: str, items: list[Item], arguments: Mapping[str, Any]) -> Part:
    size = sum(map(item_bytes, items))
    share = 1.0 if arguments.get("ConsistentRead") else 0.5
    return Part(kind, size, reads=share * started(size, READ_BYTES))


def _kind(key: Item) -> str:
    return kind_of(*key_of(key))


def _asked(arguments: dict[str, Any]) -> str:
    """What a query asks for: an index, or the kind of the partition."""
    if "IndexName" in arguments:
        return f"index {arguments['IndexName']}"
    values = arguments["ExpressionAttributeValues"].values()
    strings = sorted(value["S"] for value in values if "#" in value.get("S", ""))
    partition = next(one for one in strings if not one.startswith(("L#", "F#")))
    return f"{partition.partition('#')[0]} …"
