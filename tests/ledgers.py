"""Ledgers and workspaces for tests, in memory and on AWS: answered by moto, or in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.s3_files import S3Files
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.workspace.files import Files
from opencrab.ports.workspace.ledger import (
    LedgerEntry,
    file_name_taken_error,
    twin_file_names,
    workspace_over_quota_error,
)
from tests.aws import Account, account
from tests.aws_home import dispatch_in
from tests.aws_memory.account import MemoryAccount
from tests.scale.dynamodb import MemoryTable


class MemoryLedger:
    """`ports.ledger.WorkspaceLedger` as plainly as it can be said."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], LedgerEntry] = {}
        self._numbers = count(1)

    def entry(self, agent_id: str, path: str) -> LedgerEntry:
        return self._entries.get((agent_id, path), LedgerEntry(path))

    def entries(self, agent_id: str, folder: str = "") -> tuple[LedgerEntry, ...]:
        below = f"{folder}/" if folder else ""
        return tuple(entry for entry in self._of(agent_id) if entry.path.startswith(below))

    def save(
        self, agent_id: str, entry: LedgerEntry, *, quota_bytes: int | None = None
    ) -> LedgerEntry | None:
        known = self.entry(agent_id, entry.path)
        if known.revision != entry.revision:
            return None
        if not known.revision and not entry.is_empty:
            for other in self._of(agent_id):
                _refuse_clash(entry.path, other.path)
        growth, used = entry.held - known.counted, self.usage(agent_id)
        if quota_bytes is not None and growth > 0 and used + growth > quota_bytes:
            raise workspace_over_quota_error(entry.path, growth, used, quota_bytes)
        after = replace(entry, counted=entry.held, revision=f"{next(self._numbers)}")
        self._entries[agent_id, entry.path] = after
        if after.is_empty:
            del self._entries[agent_id, entry.path]
            return LedgerEntry(entry.path)
        return after

    def usage(self, agent_id: str) -> int:
        return sum(entry.counted for entry in self._of(agent_id))

    def _of(self, agent_id: str) -> list[LedgerEntry]:
        return [entry for (owner, _), entry in self._entries.items() if owner == agent_id]


def _refuse_clash(path: str, existing: str) -> None:
    """Refuse a path that is, is in, or looks like what another file makes a file or a folder."""
    mine, theirs = path.split("/"), existing.split("/")
    shared = min(len(mine), len(theirs))
    for depth in range(1, shared + 1):
        wanted, other = "/".join(mine[:depth]), "/".join(theirs[:depth])
        if twin_file_names(wanted) != twin_file_names(other):
            return
        if wanted != other or depth in {len(mine), len(theirs)}:
            raise file_name_taken_error(wanted, other, is_folder=depth < len(theirs))


def open_table(opened: Account, name: str = "opencrab") -> Table:
    """A table with the keys of infra/data.yaml, spoken to by pynamodb."""
    opened.client("dynamodb").create_table(
        TableName=f"{name}-{opened.stage}",
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    dispatch = dispatch_in(opened)
    return Table(f"{name}-{opened.stage}", dispatch, pause=lambda seconds: None)


@contextmanager
def s3_files(clock: FakeClock, quota_bytes: int, file_bytes: int) -> Iterator[Files]:
    """Workspaces as they lie on AWS: objects in S3, their ledger in DynamoDB."""
    with account(clock) as opened:
        yield S3Files(
            opened.client("s3"),
            opened.bucket(),
            quota_bytes=quota_bytes,
            file_bytes=file_bytes,
            ledger=DynamoLedger(open_table(opened), clock),
            clock=clock,
        )


def s3_files_in_memory(clock: FakeClock, quota_bytes: int, file_bytes: int) -> Files:
    """The same on a bucket and a table in memory."""
    opened = MemoryAccount(clock)
    return S3Files(
        opened.client("s3"),
        opened.bucket(),
        quota_bytes=quota_bytes,
        file_bytes=file_bytes,
        ledger=DynamoLedger(Table("opencrab", MemoryTable(), pause=clock.advance), clock),
        clock=clock,
    )
