"""What lies between adapters and DynamoDB: time, transactions that meet, and full partitions.

The rules are those of the DynamoDB Developer Guide ("Amazon DynamoDB Transactions: How it works",
"Best practices for designing and using partition keys effectively"):

- A write, alone or in a transaction, is refused with a conflict while another transaction that
  contains the item is on its way. Single writes of the same item never conflict with each other.
- A partition takes 1,000 write units a second; one item cannot have more than its partition.
"""

import random
from collections import Counter, defaultdict
from typing import Any

from opencrab.adapters.dynamodb.item import Item
from tests.scale.clockwork import Clockwork
from tests.scale.dynamodb import Key, MemoryTable, cancelled, client_error, written_key

_READS = ("GetItem", "BatchGetItem", "Query")
_ONE_WAY_SECONDS = 0.001
_READ_SECONDS = 0.003
_WRITE_SECONDS = 0.004
_TRANSACTION_SECONDS = (0.008, 0.020)
"""How long a transaction holds its items: two rounds among the replicas of each."""

PARTITION_UNITS = 1_000
_BURST_SECONDS = 0.25
_SDK_PAUSES = (0.05, 0.1, 0.2)
"""What the SDK waits before its three own tries after a throttle."""


class Network:
    """`opencrab.adapters.dynamodb.table.Dispatch` with delays by a clockwork.

    Counts calls, conflicts by the kind of item where they arose, and throttles.
    """

    def __init__(self, table: MemoryTable, clockwork: Clockwork, seed: int = 0) -> None:
        self._table = table
        self._clockwork = clockwork
        self._dice = random.Random(seed)  # noqa: S311 - the same run each time
        self._held: dict[Key, int] = {}
        self._room: dict[str, tuple[float, float]] = {}
        self.calls: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        self.refused = 0
        self.throttles = 0
        self.writes: dict[str, int] = defaultdict(int)

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do a call."""
        self.calls[operation] += 1
        self._clockwork.sleep(_ONE_WAY_SECONDS)
        try:
            if operation in _READS:
                self._clockwork.sleep(_READ_SECONDS)
                return self._table(operation, arguments)
            if operation == "TransactWriteItems":
                return self._transact(arguments)
            return self._write(operation, arguments)
        finally:
            self._clockwork.sleep(_ONE_WAY_SECONDS)

    def _write(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        key = written_key(arguments)
        self._take_room(operation, [key], 1)
        self._clockwork.sleep(_WRITE_SECONDS)
        if key in self._held:
            self.conflicts[kind_of(key)] += 1
            error = {"Code": "TransactionConflictException", "Message": "made up"}
            raise client_error(operation, {"Error": error})
        return self._table(operation, arguments)

    def _transact(self, arguments: dict[str, Any]) -> dict[str, Any]:
        keys = [written_key(next(iter(each.values()))) for each in arguments["TransactItems"]]
        self._take_room("TransactWriteItems", keys, 2)
        met = [key in self._held for key in keys]
        if any(met):
            self.conflicts[kind_of(keys[met.index(True)])] += 1
            # Where a condition is known not to hold, DynamoDB says so beside the conflict.
            reasons: list[tuple[str, Item | None] | None] = [
                ("TransactionConflict", None) if conflict else None for conflict in met
            ]
            raise cancelled(reasons)
        for key in keys:
            self._held[key] = 1
        try:
            self._clockwork.sleep(self._dice.uniform(*_TRANSACTION_SECONDS))
            return self._table("TransactWriteItems", arguments)
        finally:
            for key in keys:
                del self._held[key]

    def _take_room(self, operation: str, keys: list[Key], units: int) -> None:
        """Take write units of each partition, waiting as the SDK does while one has none left."""
        for pause in (*_SDK_PAUSES, None):
            full = [key for key in keys if not self._has_room(key[0], units)]
            if not full:
                for pk, _ in keys:
                    left, at = self._room[pk]
                    self._room[pk] = left - units, at
                    self.writes[kind_of((pk, ""))] += units
                return
            self.throttles += 1
            if pause is None:
                error = {"Code": "ThrottlingException", "Message": "made up"}
                raise client_error(operation, {"Error": error})
            self._clockwork.sleep(pause * (0.5 + self._dice.random() / 2))

    def _has_room(self, pk: str, units: int) -> bool:
        now, most = self._clockwork.seconds, PARTITION_UNITS * _BURST_SECONDS
        left, at = self._room.get(pk, (most, now))
        left = min(left + (now - at) * PARTITION_UNITS, most)
        self._room[pk] = left, now
        return left >= units


def kind_of(key: Key) -> str:
    """What an item is."""
    kind, _, name = key[0].partition("#")
    return f"{kind} {name.partition(':')[0]}" if kind == "BUDGET" else kind
