"""The ledger in the table: answers that are lost, versions side by side, and what a save costs."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.table import (
    Dispatch,
    Table,
    dynamodb_attribute_changes,
    update_item,
)
from opencrab.adapters.dynamodb.workspace import (
    DynamoLedger,
    dynamodb_sort_key_of_path,
    dynamodb_workspace_partition,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import TooLarge, Unavailable
from opencrab.ports.workspace.files import FileInfo
from opencrab.ports.workspace.ledger import LedgerEntry
from tests.aws import account
from tests.ledgers import open_table
from tests.unit.adapters.s3_files.trouble import NOW

PATH = "海/メモ/今日.md"
QUOTA = 100


class Wire:
    """The calls of a table, each of which may be sent twice, as after a lost answer."""

    def __init__(self, real: Dispatch) -> None:
        self.calls: list[str] = []
        self.twice = False
        self._real = real

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(operation)
        if self.twice and operation not in {"GetItem", "Query"}:
            self._real(operation, arguments)
        return self._real(operation, arguments)


class Opened:
    """A ledger, its table and its wire."""

    def __init__(self, table: Table) -> None:
        self.wire = Wire(table._dispatch)
        self.table = Table(table.name, self.wire, pause=lambda seconds: None)
        self.clock = FakeClock(NOW)
        self.ledger = DynamoLedger(self.table, self.clock)

    def kept(self, path: str, size: int) -> LedgerEntry:
        """A settled file."""
        saved = self.ledger.save("mika", LedgerEntry(path, size, info(path, size)))
        assert saved is not None
        self.wire.calls.clear()
        return saved


@pytest.fixture
def dynamo() -> Iterator[Opened]:
    with account(FakeClock(NOW)) as opened:
        yield Opened(open_table(opened))


def info(path: str, size: int) -> FileInfo:
    return FileInfo(path, size, "0" * 64, f"e{size}:v")


def test_a_save_whose_answer_was_lost_is_saved_once(dynamo: Opened) -> None:
    ledger, now = dynamo.ledger, dynamo.clock.now()
    dynamo.wire.twice = True
    made = ledger.save("mika", LedgerEntry(PATH).with_reservation("w", 90, now), quota_bytes=QUOTA)
    assert made == ledger.entry("mika", PATH)
    assert ledger.usage("mika") == 90
    settled = ledger.save("mika", made.with_file_info(info(PATH, 90), now).without_reservation("w"))
    assert settled == ledger.entry("mika", PATH)
    assert settled is not None
    shorter = ledger.save("mika", settled.with_file_info(info(PATH, 20), now))
    assert shorter is not None
    assert ledger.usage("mika") == 20
    assert ledger.save("mika", shorter.with_file_info(None, now)) == LedgerEntry(PATH)
    assert ledger.usage("mika") == 0
    assert ledger.save("mika", LedgerEntry("海", 1, info("海", 1))), "its folder counts nothing now"


def test_a_save_writes_no_more_than_what_changed(dynamo: Opened) -> None:
    entry = dynamo.kept(PATH, 10)
    dynamo.ledger.save("mika", entry.with_file_info(info(PATH, 10), NOW), quota_bytes=QUOTA)
    assert dynamo.wire.calls == ["PutItem"]


def test_what_was_saved_here_is_known_until_somebody_else_changed_it(dynamo: Opened) -> None:
    entry = dynamo.kept(PATH, 10)
    assert dynamo.ledger.entry("mika", PATH) == entry
    assert dynamo.wire.calls == []
    other = DynamoLedger(dynamo.table, FakeClock(NOW + timedelta(hours=1)))
    theirs = other.save("mika", other.entry("mika", PATH).with_file_info(info(PATH, 30), NOW))
    assert dynamo.ledger.save("mika", entry.with_file_info(info(PATH, 20), NOW)) is None
    assert dynamo.ledger.entry("mika", PATH) == theirs


def test_nothing_is_written_of_nothing(dynamo: Opened) -> None:
    assert dynamo.ledger.save("mika", LedgerEntry(PATH)) == LedgerEntry(PATH)
    assert dynamo.wire.calls == []


def test_the_deepest_path_fits_into_a_transaction(dynamo: Opened) -> None:
    path = "/".join("深" * 16)
    entry = dynamo.kept(path, 10)
    assert dynamo.ledger.entry("mika", path) == entry
    with pytest.raises(TooLarge):
        dynamo.ledger.save("mika", LedgerEntry("海/" + path[2:], 91), quota_bytes=QUOTA)


@pytest.mark.parametrize("clean", [True, False])
def test_of_what_an_older_version_wrote_only_the_size_is_known(
    dynamo: Opened, *, clean: bool
) -> None:
    known = replace(info(PATH, 10), clean=clean)
    dynamo.ledger.save("mika", LedgerEntry(PATH, 10, known))
    place = dynamodb_workspace_partition("mika"), dynamodb_sort_key_of_path(PATH)
    assert DynamoLedger(dynamo.table, dynamo.clock).entry("mika", PATH).info == known
    dynamo.table.write(update_item(*place, Update(Path("clean").remove())))
    older = DynamoLedger(dynamo.table, dynamo.clock).entry("mika", PATH)
    assert (older.size, older.info) == (10, None)


def test_what_a_newer_version_wrote_is_left_to_it(dynamo: Opened) -> None:
    entry = dynamo.kept(PATH, 10)
    dynamo.table.write(
        update_item(
            dynamodb_workspace_partition("mika"),
            dynamodb_sort_key_of_path(PATH),
            dynamodb_attribute_changes({"schema": 2}),
        )
    )
    assert dynamo.ledger.save("mika", entry.with_file_info(info(PATH, 20), NOW)) is None
    with pytest.raises(Unavailable, match="newer version"):
        dynamo.ledger.entry("mika", PATH)
    assert dynamo.ledger.usage("mika") == 10


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Notes/Today.MD", "F#notes/today.md"),
        ("ｶﾆ/が", "F#カニ/が"),
        ("a／b", "F#H" + "c14cddc033f64b9dea80ea675cf280a015e672516090a5626781153dc68fea11"[:48]),
    ],
)
def test_a_key_is_what_all_that_look_the_same_share(path: str, expected: str) -> None:
    assert dynamodb_sort_key_of_path(path) == expected
