"""The contract of the Ledger: bytes and names are held before a file exists, and never too few."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pytest

from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.ports.workspace.files import FileInfo
from opencrab.ports.workspace.ledger import GRACE, LedgerEntry, WorkspaceLedger
from tests.aws import account
from tests.ledgers import MemoryLedger, open_table

QUOTA = 1_000


class Counting(WorkspaceLedger, Protocol):
    """A ledger that tells its sum."""

    def usage(self, agent_id: str) -> int:
        """Bytes that all files of an agent count for."""


@contextmanager
def memory(clock: FakeClock) -> Iterator[Counting]:
    yield MemoryLedger()


@contextmanager
def dynamodb(clock: FakeClock) -> Iterator[Counting]:
    with account(clock) as opened:
        yield DynamoLedger(open_table(opened), clock)


Opens = Callable[[FakeClock], AbstractContextManager[Counting]]
ADAPTERS: tuple[Opens, ...] = (memory, dynamodb)


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def ledger(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Counting]:
    opens: Opens = request.param
    with opens(clock) as opened:
        yield opened


def kept(ledger: WorkspaceLedger, clock: FakeClock, path: str, size: int = 10) -> LedgerEntry:
    """A file that was reserved, written and settled."""
    now = clock.now()
    entry = ledger.entry("mika", path).with_reservation("w", size, now)
    reserved = ledger.save("mika", entry, quota_bytes=QUOTA)
    assert reserved is not None
    settled = ledger.save(
        "mika", reserved.with_file_info(info(path, size), now).without_reservation("w")
    )
    assert settled is not None
    return settled


def info(path: str, size: int) -> FileInfo:
    return FileInfo(path, size, "0" * 64, f"e{size}:v")


def removed(ledger: WorkspaceLedger, clock: FakeClock, path: str) -> None:
    gone = ledger.save("mika", ledger.entry("mika", path).with_file_info(None, clock.now()))
    assert gone == LedgerEntry(path)


@pytest.mark.parametrize("path", ["海/メモ.md", "notes/today.md", "🦀", "a"])
def test_what_was_kept_is_known_again(path: str, ledger: Counting, clock: FakeClock) -> None:
    settled = kept(ledger, clock, path)
    assert ledger.entry("mika", path) == settled
    assert ledger.entries("mika") == (settled,)
    assert (settled.info, settled.counted) == (info(path, 10), 10)
    assert ledger.entry("ken", path) == LedgerEntry(path)
    removed(ledger, clock, path)
    assert ledger.entries("mika") == ()
    assert ledger.usage("mika") == 0


def test_reservations_are_known_again_and_count_at_their_largest(
    ledger: Counting, clock: FakeClock
) -> None:
    now = clock.now()
    entry = (
        LedgerEntry("a", 5, info("a", 5))
        .with_reservation("x", 30, now)
        .with_reservation("y", 20, now)
    )
    saved = ledger.save("mika", entry)
    assert saved is not None
    found = ledger.entry("mika", "a")
    assert found == saved
    assert (found.held, ledger.usage("mika")) == (30, 30)
    assert ledger.save("mika", found.without_reservation("x")) is not None
    assert ledger.usage("mika") == 20


def test_a_reservation_of_the_dead_ends_after_the_grace(ledger: Counting, clock: FakeClock) -> None:
    ledger.save("mika", LedgerEntry("a").with_reservation("x", 30, clock.now()))
    clock.advance(GRACE.total_seconds() - 1)
    assert ledger.entry("mika", "a").with_file_info(None, clock.now()).held == 30
    clock.advance(1)
    removed(ledger, clock, "a")


def test_an_entry_that_changed_since_it_was_read_is_not_saved(
    ledger: Counting, clock: FakeClock
) -> None:
    old = kept(ledger, clock, "a")
    newer = ledger.save("mika", old.with_size(20, clock.now()))
    assert newer is not None
    assert ledger.save("mika", old.with_size(30, clock.now())) is None
    assert ledger.save("mika", LedgerEntry("a", 30)) is None
    assert ledger.entry("mika", "a") == newer
    removed(ledger, clock, "a")
    assert ledger.save("mika", newer.with_size(30, clock.now())) is None
    assert ledger.usage("mika") == 0


def test_growth_beyond_the_quota_is_refused_and_changes_nothing(
    ledger: Counting, clock: FakeClock
) -> None:
    kept(ledger, clock, "a", 600)
    with pytest.raises(TooLarge, match=r"'海' needs 401 bytes more and the workspace has 400 of"):
        ledger.save(
            "mika", LedgerEntry("海").with_reservation("x", 401, clock.now()), quota_bytes=QUOTA
        )
    with pytest.raises(TooLarge, match="'c' needs 1001 bytes more"):
        ledger.save(
            "mika", LedgerEntry("c").with_reservation("x", 1_001, clock.now()), quota_bytes=QUOTA
        )
    assert ledger.usage("mika") == 600
    assert ledger.entry("mika", "海") == LedgerEntry("海")
    assert ledger.save(
        "mika", LedgerEntry("海").with_reservation("x", 400, clock.now()), quota_bytes=QUOTA
    )


def test_who_is_over_a_quota_may_still_shrink(ledger: Counting, clock: FakeClock) -> None:
    large = ledger.save("mika", LedgerEntry("a", 5_000))
    assert large is not None
    assert ledger.save("mika", large.with_size(4_000, clock.now()), quota_bytes=QUOTA)
    with pytest.raises(TooLarge, match="has 0 of 1000"):
        ledger.save("mika", LedgerEntry("b", 1), quota_bytes=QUOTA)


@pytest.mark.parametrize(
    ("existing", "path", "told"),
    [
        ("Memo.md", "memo.md", "'memo.md' differs from the existing 'Memo.md'"),
        ("カニ/a", "ｶﾆ/b", "'ｶﾆ' differs from the existing 'カニ'"),
        ("a/B/c", "a/b/d", "'a/b' differs from the existing 'a/B'"),
        ("straße", "STRASSE/x", "'STRASSE' differs"),
        ("Strasse/x", "straße", "'straße' differs"),
        ("a/b", "a", "'a' is a folder"),
        ("a", "a/b/c", "'a' is a file"),
        ("長い" * 30 + "A/x", "長い" * 30 + "a/x", "case or width"),
    ],
)
def test_a_name_is_held_against_all_that_look_the_same(
    existing: str, path: str, told: str, ledger: Counting, clock: FakeClock
) -> None:
    held = ledger.save("mika", LedgerEntry(existing).with_reservation("w", 1, clock.now()))
    assert held is not None
    with pytest.raises(Invalid, match=told):
        ledger.save("mika", LedgerEntry(path).with_reservation("x", 1, clock.now()))
    assert ledger.save("ken", LedgerEntry(path, 1))
    assert [entry.path for entry in ledger.entries("mika")] == [existing]
    removed_after_grace(ledger, clock, existing)
    assert ledger.save("mika", LedgerEntry(path, 1))


def removed_after_grace(ledger: WorkspaceLedger, clock: FakeClock, path: str) -> None:
    clock.advance(GRACE.total_seconds())
    removed(ledger, clock, path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a／b", "a/b"),
        ("あ", "い"),
        ("l" * 61, "l" * 62),
        ("a/b", "a/c"),
        ("℀", "a/c"),
    ],
)
def test_names_that_only_resemble_each_other_are_two(
    one: str, other: str, ledger: Counting, clock: FakeClock
) -> None:
    kept(ledger, clock, one)
    kept(ledger, clock, other)
    assert {entry.path for entry in ledger.entries("mika")} == {one, other}


def test_a_folder_ends_with_the_last_file_in_it(ledger: Counting, clock: FakeClock) -> None:
    for path in ("海/a", "海/b/c"):
        kept(ledger, clock, path)
    removed(ledger, clock, "海/a")
    with pytest.raises(Invalid, match="'海' is a folder"):
        kept(ledger, clock, "海")
    removed(ledger, clock, "海/b/c")
    kept(ledger, clock, "海")
    removed(ledger, clock, "海")
    kept(ledger, clock, "海/d")


def test_entries_below_a_folder_are_found_without_the_rest(
    ledger: Counting, clock: FakeClock
) -> None:
    for path in ("海/a", "海/b/c", "海辺/d", "e", "f" * 70 + "/g"):
        kept(ledger, clock, path)
    assert {entry.path for entry in ledger.entries("mika", "海")} == {"海/a", "海/b/c"}
    assert {entry.path for entry in ledger.entries("mika", "f" * 70)} == {"f" * 70 + "/g"}
    assert len(ledger.entries("mika")) == 5


@pytest.mark.parametrize(
    "path",
    [
        "/".join(["ﷺ" * 13] * 16),
        "/".join(["ﷺ" * 3] * 16),
        "/".join(["m" * 42] * 16),
        "/".join(["海の日記" * 5] * 11),
    ],
)
def test_the_longest_path_has_a_place(path: str, ledger: Counting, clock: FakeClock) -> None:
    settled = kept(ledger, clock, path)
    assert ledger.entry("mika", path) == settled
