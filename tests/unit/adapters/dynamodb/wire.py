"""A table of moto behind a wire: watched, failing on request, and with others acting in between."""

import json
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from opencrab.adapters.dynamodb.home import Stores, stores_on_dynamodb_table
from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import Dispatch, Table
from tests.aws import Account
from tests.aws_faults import Fault, Go, response_of
from tests.aws_home import create_table

Reason = tuple[str, str, Item | None]
"""Why one item of a transaction was refused: code, message, what is stored."""

NONE: Reason = ("None", "", None)
CONFLICT: Reason = ("TransactionConflict", "Transaction is ongoing for the item", None)


class Wire:
    """Calls of DynamoDB, kept; others may act right before some of them."""

    def __init__(self, real: Dispatch) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._real = real
        self._acts: defaultdict[str, deque[Callable[[], object]]] = defaultdict(deque)

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((operation, arguments))
        if self._acts[operation]:
            self._acts[operation].popleft()()
        return self._real(operation, arguments)

    def before(self, operation: str, *acts: Callable[[], object]) -> None:
        """Let something happen before each of the next calls of an operation."""
        self._acts[operation].extend(acts)

    @property
    def operations(self) -> list[str]:
        """The names of the calls."""
        return [operation for operation, _ in self.calls]


class Dynamo:
    """One table, used by two processes: one behind the wire, and another that acts in between."""

    def __init__(self, opened: Account, real: Dispatch, name: str) -> None:
        self.account = opened
        self.name = create_table(opened, name)
        self.real = real
        self.wire = Wire(self.real)
        self.pauses: list[float] = []
        self.table = self.behind(self.wire)
        self.stores = stores_on_dynamodb_table(self.table)
        self.others: Stores = stores_on_dynamodb_table(self.behind(self.real))

    def behind(self, dispatch: Dispatch) -> Table:
        """The table as another dispatch shows it."""
        return Table(self.name, dispatch, pause=self.pauses.append)

    def fails(self, *faults: Fault) -> None:
        """What becomes of the next calls."""
        self.account.fails(*faults)


def cancels(*reasons: Reason) -> Fault:
    """DynamoDB cancels a transaction; one reason for each of its items."""

    def fault(request: AWSPreparedRequest, go: Go) -> AWSResponse:
        told = [
            {"Code": code, "Message": message, **({"Item": item} if item else {})}
            for code, message, item in reasons
        ]
        body = {
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "Transaction cancelled, please refer cancellation reasons",
            "CancellationReasons": told,
        }
        return response_of(request, 400, json.dumps(body).encode())

    return fault
