"""The DynamoDB table: reads, conditional writes, transactions, and what their errors mean.

It knows items and keys, and nothing of agents or turns. A failed condition is an answer and comes
as ConditionFailed or Cancelled; a conflict with another transaction is none and is tried again.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError
from pynamodb.connection import Connection
from pynamodb.exceptions import VerboseClientError
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import Item
from opencrab.domain.errors import TooLarge, Unavailable

log = logging.getLogger(__name__)

TRANSACTION_ITEMS = 25
"""Our own bound, below DynamoDB's: each item costs two writes, and may meet others (ADR 0006)."""

USER_AGENT = "opencrab"
PAUSES = (0.02, 0.04, 0.08, 0.16, 0.3, 0.5, 0.7)
"""Seconds to wait, at most, before each new try after a conflict: less than 2 s in all."""

PATIENT_PAUSES = (*PAUSES, *(1.0,) * 8)
"""The same for what money was spent on: less than 10 s in all."""

_CONFLICTS = {
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
}
_CONDITION = "ConditionalCheckFailed"
_BATCH = 100
_TOO_LARGE = ("Item size", "item size", "maximum allowed size")

Dispatch = Callable[[str, dict[str, Any]], dict[str, Any]]
"""One call of DynamoDB: operation and arguments in, answer out."""


class ConditionFailed(Exception):
    """The condition of a write failed; `item` is the stored item, None if there is none."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the write's condition failed")
        self.item = item


class Cancelled(Exception):
    """A canceled transaction; `failed` maps places of failed conditions to the stored items.

    `unknown` are places whose condition was not evaluated, because of a transaction conflict.
    """

    def __init__(
        self, failed: dict[int, Item | None], unknown: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(f"the conditions of the writes {sorted(failed)} failed")
        self.failed = failed
        self.unknown = unknown


@dataclass(frozen=True)
class Write:
    """One operation of a transaction, or a single write."""

    kind: str
    arguments: dict[str, Any]


def item_absent() -> Condition:
    """Return the condition that no item with this key exists."""
    return Path("pk").does_not_exist()


def join_dynamodb_conditions(first: Condition, *others: Condition) -> Condition:
    """Combine conditions with AND."""
    condition = first
    for other in others:
        condition = condition & other
    return condition


def put_item(item: Item, condition: Condition | None = None) -> Write:
    """Return a Put, which replaces an existing item as a whole."""
    return Write("Put", {"Item": item, **_expressions(condition)})


def update_item(pk: str, sk: str, change: Update, condition: Condition | None = None) -> Write:
    """Return an Update, which creates the item if it does not exist."""
    return Write("Update", {"Key": item_key(pk, sk), **_expressions(condition, change)})


def delete_dynamodb_item(pk: str, sk: str, condition: Condition | None = None) -> Write:
    """Return a Delete, which succeeds also if the item does not exist."""
    return Write("Delete", {"Key": item_key(pk, sk), **_expressions(condition)})


def check_item(pk: str, sk: str, condition: Condition) -> Write:
    """Return a check of an item that the transaction does not change."""
    return Write("ConditionCheck", {"Key": item_key(pk, sk), **_expressions(condition)})


def item_key(pk: str, sk: str) -> Item:
    """Return an item's primary key."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def dynamodb_attribute_changes(values: Mapping[str, Any]) -> Update:
    """Return an update expression that sets attributes; None removes one."""
    made = Update()
    for name, value in values.items():
        made.add_action(Path(name).remove() if value is None else Path(name).set(value))
    return made


class Table:
    """One DynamoDB table on one connection.

    Args:
        name: The table's name.
        dispatch: Calls DynamoDB; the connection's own by default.
        pause: Sleeps before a retry after a conflict.
    """

    def __init__(
        self,
        name: str,
        dispatch: Dispatch | None = None,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.name = name
        self._dispatch = dispatch or open_dynamodb_connection()
        self._pause = pause or threading.Event().wait

    def get(self, pk: str, sk: str, *, consistent: bool = True) -> Item | None:
        """Return an item by its key; None if it does not exist."""
        found: Item | None = self._call(
            "GetItem", {"Key": item_key(pk, sk), "ConsistentRead": consistent}
        ).get("Item")
        return found

    def query(
        self,
        pk: str,
        low: str,
        high: str,
        *,
        limit: int | None = None,
        newest_first: bool = False,
        consistent: bool = True,
    ) -> list[Item]:
        """Return a partition's items with low <= sk <= high, in order of the sort key."""
        condition = (Path("pk") == pk) & Path("sk").between(low, high)
        arguments = {"ConsistentRead": consistent, "ScanIndexForward": not newest_first}
        return list(self._pages(_key_condition(condition) | arguments, limit))

    def query_prefix(self, pk: str, prefix: str, *, limit: int | None = None) -> list[Item]:
        """Return a partition's items whose sort key begins with a prefix, in order."""
        condition = (Path("pk") == pk) & Path("sk").startswith(prefix)
        return list(self._pages(_key_condition(condition) | {"ConsistentRead": True}, limit))

    def query_listing(self, name: str, after: str, limit: int | None) -> list[Item]:
        """Return keys of one shard of a list after a partition key, in order.

        Eventually consistent.
        """
        condition = (Path("list") == name) & (Path("pk") > after)
        return list(self._pages(_key_condition(condition) | {"IndexName": "listed"}, limit))

    def query_due(self, name: str, before: int) -> Iterator[Item]:
        """Yield keys of one shard of a due list up to a time, oldest first.

        The index is eventually consistent: read the item itself before you rely on it.
        """
        condition = (Path("due_list") == name) & (Path("due_at") <= before)
        arguments = _key_condition(condition) | {"IndexName": "due"}
        return self._pages(arguments, None, page=_BATCH)

    def get_many(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Item]:
        """Return the items of many keys by BatchGetItem; those that do not exist are left out."""
        found: dict[tuple[str, str], Item] = {}
        for start in range(0, len(keys), _BATCH):
            # A key that is asked for twice is an error to DynamoDB; keys for which it had no room
            # come back and are asked for again, so that what is missing at the end is not there.
            wanted = [item_key(*one) for one in dict.fromkeys(keys[start : start + _BATCH])]
            for pause in (*PAUSES, None):
                asked = {self.name: {"Keys": wanted, "ConsistentRead": True}}
                answer = self._safely("BatchGetItem", {"RequestItems": asked})
                for item in answer.get("Responses", {}).get(self.name, ()):
                    found[item["pk"]["S"], item["sk"]["S"]] = item
                wanted = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
                if not wanted:
                    break
                self._wait(pause)
        return found

    def write(self, write: Write, *, answer: str = "NONE") -> Item:
        """Execute one write; raise ConditionFailed. `answer` is `ALL_NEW`, `ALL_OLD` or `NONE`."""
        arguments = {
            **write.arguments,
            "ReturnValues": answer,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        changed: Item = self._call(f"{write.kind}Item", arguments).get("Attributes", {})
        return changed

    def transact(self, *writes: Write, patient: bool = False) -> None:
        """Execute all writes in one transaction or none; raise Cancelled with the failed places.

        With `patient` it retries conflicts longer, for writes that record a paid model call.
        """
        if len(writes) > TRANSACTION_ITEMS:
            raise AssertionError(
                f"a transaction of {len(writes)} items exceeds {TRANSACTION_ITEMS}"
            )
        items = [
            {
                write.kind: {
                    **write.arguments,
                    "TableName": self.name,
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
            for write in writes
        ]
        # botocore gives each call a token of its own, by which its repeat after a lost answer is
        # the same transaction. A new try after a conflict is another call and needs another token:
        # what was cancelled has written nothing.
        pauses = PATIENT_PAUSES if patient else PAUSES
        self._safely("TransactWriteItems", {"TransactItems": items}, pauses)

    def back_off(self, tries: int) -> None:
        """Sleep before a retry after losing to concurrent writers, longer with each try."""
        self._wait(PAUSES[min(tries, len(PAUSES)) - 1])

    def _pages(
        self, arguments: dict[str, Any], limit: int | None, page: int | None = None
    ) -> Iterator[Item]:
        """Yield items page by page; DynamoDB ends a page after 1 MB, whatever the limit."""
        left = limit
        while left is None or left > 0:
            size = page if left is None else left
            answer = self._call("Query", arguments | ({} if size is None else {"Limit": size}))
            items = answer.get("Items", [])
            yield from items
            last = answer.get("LastEvaluatedKey")
            if not last:
                return
            arguments = arguments | {"ExclusiveStartKey": last}
            left = None if left is None else left - len(items)

    def _call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._safely(operation, {"TableName": self.name, **arguments})

    def _safely(
        self, operation: str, arguments: dict[str, Any], pauses: tuple[float, ...] = PAUSES
    ) -> dict[str, Any]:
        """Call DynamoDB and retry after transaction conflicts."""
        for pause in (*pauses, None):
            try:
                return self._dispatch(operation, arguments)
            except VerboseClientError as error:
                if not _is_conflict(error):
                    raise self._explained(operation, error) from error
            except BotoCoreError as error:
                raise self._unavailable(operation, type(error).__name__) from error
            self._wait(pause)
        raise AssertionError("unreachable: the last wait raises Unavailable")

    def _wait(self, seconds: float | None) -> None:
        if seconds is None:
            raise Unavailable(
                f"table {self.name!r} has too many concurrent updates of the same items; "
                "retries exhausted",
                cure="try again in a few seconds",
            )
        self._pause(seconds * (0.5 + secrets.randbelow(500) / 1_000))

    def _explained(self, operation: str, error: VerboseClientError) -> Exception:
        """Map a DynamoDB error to ConditionFailed, Cancelled, TooLarge or Unavailable."""
        response = error.response.get("Error", {})
        code, message = str(response.get("Code")), str(response.get("Message"))
        cause = error.__cause__
        answered: Mapping[str, Any] = getattr(cause, "response", None) or {}
        if code == "ConditionalCheckFailedException":
            return ConditionFailed(answered.get("Item"))
        reasons = list(error.cancellation_reasons)
        failed = {
            place: reason.raw_item
            for place, reason in enumerate(reasons)
            if reason is not None and reason.code == _CONDITION
        }
        # A condition that failed outweighs a conflict beside it: to try again would not mend it.
        if failed:
            unknown = {
                place
                for place, reason in enumerate(reasons)
                if reason is not None and reason.code in _CONFLICTS
            }
            return Cancelled(failed, frozenset(unknown))
        told = " ".join([message, *(str(reason.message) for reason in reasons if reason)])
        if any(words in told for words in _TOO_LARGE):
            return TooLarge(
                f"table {self.name!r} cannot hold an item of over 400 KB",
                cure="send less in one message or result",
            )
        # AWS's words name accounts and roles, so that they are for the log.
        log.warning(
            "table operation failed: operation=%s, table=%s, code=%s, message=%s",
            operation,
            self.name,
            code,
            told[:500],
        )
        return self._unavailable(operation, code)

    def _unavailable(self, operation: str, why: str) -> Unavailable:
        return Unavailable(
            f"{operation} on table {self.name!r} failed: {why}",
            cure="try again; if the error persists, check the table's name, region and the "
            "role's permissions",
        )


def open_dynamodb_connection(region: str | None = None, **credentials: Any) -> Dispatch:
    """Open a connection and return its call function; the SDK retries transient errors.

    Credentials default to the function's own; `credentials` are pynamodb's parameters.
    """
    connection = Connection(
        region=region,
        connect_timeout_seconds=2,
        read_timeout_seconds=5,
        max_pool_connections=20,
        retry_configuration={"total_max_attempts": 4, "mode": "standard"},
        **credentials,
    )
    # Without a name botocore describes itself, its system and its features anew for every call.
    connection.session.set_default_client_config(Config(user_agent=USER_AGENT))
    # Made here, in the thread that has this session: others share the client.
    connection.client  # noqa: B018
    return connection.dispatch


def _is_conflict(error: VerboseClientError) -> bool:
    """Check for a transaction conflict without any failed condition."""
    if error.response.get("Error", {}).get("Code") in _CONFLICTS:
        return True
    codes = {reason.code for reason in error.cancellation_reasons if reason is not None}
    return bool(codes & _CONFLICTS) and _CONDITION not in codes


def _expressions(condition: Condition | None, change: Update | None = None) -> dict[str, Any]:
    names: dict[str, str] = {}
    values: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    if change is not None:
        arguments["UpdateExpression"] = change.serialize(names, values)
    if condition is not None:
        arguments["ConditionExpression"] = condition.serialize(names, values)
    return arguments | _placeholders(names, values)


def _key_condition(condition: Condition) -> dict[str, Any]:
    names: dict[str, str] = {}
    values: dict[str, Any] = {}
    arguments = {"KeyConditionExpression": condition.serialize(names, values)}
    return arguments | _placeholders(names, values)


def _placeholders(names: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    """Return the placeholders of expressions; pynamodb's `names` map attribute to placeholder."""
    arguments: dict[str, Any] = {}
    if names:
        arguments["ExpressionAttributeNames"] = {short: name for name, short in names.items()}
    if values:
        arguments["ExpressionAttributeValues"] = values
    return arguments
