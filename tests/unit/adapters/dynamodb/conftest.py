"""A table for each test, in one account for each module: making a connection takes long."""

from collections.abc import Iterator
from itertools import count

import pytest

from opencrab.adapters.dynamodb.table import Dispatch
from opencrab.adapters.system_clock import FakeClock
from tests.aws import Account, account
from tests.aws_home import dispatch_in
from tests.contract.example import NOW
from tests.unit.adapters.dynamodb.wire import Dynamo

_numbers = count(1)


@pytest.fixture(scope="module")
def connected() -> Iterator[tuple[Account, Dispatch]]:
    """An account, and calls of DynamoDB in it."""
    with account(FakeClock(NOW)) as opened:
        yield opened, dispatch_in(opened)


@pytest.fixture
def dynamo(connected: tuple[Account, Dispatch]) -> Dynamo:
    """An empty table behind a wire."""
    return Dynamo(*connected, f"table{next(_numbers)}")
