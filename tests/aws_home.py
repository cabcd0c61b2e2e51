"""The home on AWS in this process: the real adapters on moto's table, queues and bucket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from botocore.config import Config
from botocore.session import get_session
from pynamodb.connection import Connection

from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Dispatch, Table
from opencrab.adapters.dynamodb.usage.counters import DynamoTallies
from opencrab.adapters.dynamodb.usage.ledger import DynamoUsage
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.s3_files import S3Blobs, S3Files
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.turn.turn import Turn
from opencrab.ports.home import Home
from tests import moto_tables
from tests.aws import (
    REGION,
    Account,
    Services,
    account,
    beats_of,
    queue_of,
    turns_and_deliveries,
)

MEBIBYTE = 2**20
moto_tables.install()
KEYS = ("pk", "sk")
INDEXES = {"listed": ("list", "pk"), "due": ("due_list", "due_at")}
NUMBERS = {"due_at"}


@contextmanager
def aws_home(clock: FakeClock) -> Iterator[Home]:
    """An empty home in an account of its own."""
    with account(clock) as opened:
        yield home_in(opened, clock)


def home_in(
    opened: Account,
    clock: FakeClock,
    *,
    dispatch: Dispatch | None = None,
    on_turn: Callable[[Turn], None] | None = None,
    consistent: bool = True,
) -> Home:
    """The home of an account; `dispatch` may stand between the adapters and DynamoDB."""
    name = create_table(opened)
    table = Table(name, dispatch or dispatch_in(opened), pause=clock.advance)
    return home_on(table, opened, clock, on_turn=on_turn, consistent=consistent)


def home_on(
    table: Table,
    opened: Services,
    clock: FakeClock,
    *,
    on_turn: Callable[[Turn], None] | None = None,
    consistent: bool = True,
) -> Home:
    """The home on a table that is there."""
    stores = stores_on_dynamodb_table(table, consistent=consistent, on_turn=on_turn)
    turns, deliveries = turns_and_deliveries(opened)
    s3, bucket = opened.client("s3"), opened.bucket()
    files = S3Files(
        s3,
        bucket,
        quota_bytes=100 * MEBIBYTE,
        file_bytes=5 * MEBIBYTE,
        ledger=DynamoLedger(table, clock),
        clock=clock,
    )
    return Home(
        agents=stores.agents,
        sessions=stores.sessions,
        journal=stores.journal,
        turns=turns,
        deliveries=deliveries,
        compactions=queue_of(opened, "compactions"),
        interactions=queue_of(opened, "interactions"),
        beats=beats_of(opened),
        nights=beats_of(opened, "nights"),
        outbox=stores.outbox,
        due=stores.due,
        facts=stores.facts,
        files=files,
        blobs=S3Blobs(s3, bucket),
        keys=stores.keys,
        idempotency=stores.idempotency,
        switches=stores.switches,
        budgets=stores.budgets,
        usage=DynamoUsage(table, clock),
        tallies=DynamoTallies(table),
        health=stores.health,
        preferences=stores.preferences,
        eraser=stores.eraser,
        feed=None,
    )


def dispatch_in(opened: Account) -> Dispatch:
    """Calls of DynamoDB in an account, through pynamodb as in production."""
    connection: Connection = opened.lent("pynamodb", _connection, lambda made: made.client)
    return connection.dispatch


def _connection() -> Connection:
    connection = Connection(
        region=REGION,
        max_retry_attempts=0,
        aws_access_key_id="made-up",
        aws_secret_access_key="made-up",
    )
    # A session of its own would read botocore's data anew for every test.
    connection._local.session = _session()
    return connection


@cache
def _session() -> Any:
    session = get_session()
    # Botocore would put together for each request what nobody reads.
    session.set_default_client_config(Config(user_agent="tests"))
    session.set_credentials("made-up", "made-up")
    return session


def create_table(opened: Account, name: str = "opencrab") -> str:
    """The table, as infra/data.yaml makes it; tests/architecture compares the two."""
    full_name = f"{name}-{opened.stage}"
    opened.client("dynamodb").create_table(TableName=full_name, **table_definition())
    return full_name


def table_definition() -> dict[str, Any]:
    """Keys, indexes and stream of the table."""
    attributes = sorted({*KEYS, *(part for index in INDEXES.values() for part in index)})
    return {
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "N" if attribute in NUMBERS else "S"}
            for attribute in attributes
        ],
        "KeySchema": _keys(*KEYS),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": name,
                "KeySchema": _keys(*parts),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for name, parts in INDEXES.items()
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def _keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]
