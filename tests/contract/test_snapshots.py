"""Snapshot stores: whole or not there, never back, and each agent's own."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.s3_files.snapshots import S3Snapshots
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.domain.identifier import content_hash
from opencrab.ports.memory.snapshots import Snapshot, SnapshotStore
from tests.aws import account
from tests.aws_memory.account import MemoryAccount
from tests.contract.waiting import at_once


class Shelf:
    """A store, files to publish, and a way to what it keeps."""

    def __init__(self, store: SnapshotStore, folder: Path) -> None:
        self.store, self.folder = store, folder
        self._files = 0

    def put(
        self,
        content: bytes,
        over: Snapshot | None,
        agent_id: str = "hana",
        rows: int = 7,
        keeps: tuple[Snapshot, ...] = (),
    ) -> Snapshot | None:
        self._files += 1
        file = self.folder / f"made-{self._files}-{len(content)}-{content_hash(content)[:8]}"
        file.write_bytes(content)
        kept = frozenset(each.version for each in keeps)
        return self.store.publish(agent_id, file, rows=rows, tokenizer=3, over=over, keeps=kept)

    def published(
        self,
        content: bytes,
        over: Snapshot | None = None,
        agent_id: str = "hana",
        keeps: tuple[Snapshot, ...] = (),
    ) -> Snapshot:
        made = self.put(content, over, agent_id, keeps=keeps)
        assert made is not None
        return made

    def fetched(self, snapshot: Snapshot) -> bytes | None:
        into = self.folder / "fetched"
        into.unlink(missing_ok=True)
        if self.store.fetch(snapshot, into):
            return into.read_bytes()
        return None

    def kept(self) -> list[bytes]:
        """Every byte that the store keeps, in whatever pieces."""
        raise NotImplementedError

    def spoil(self, content: bytes) -> None:
        """Put other bytes where the newest snapshot has its content."""
        raise NotImplementedError


class InDirectory(Shelf):
    def kept(self) -> list[bytes]:
        root = self.folder / "snapshots"
        return [each.read_bytes() for each in root.rglob("*") if each.is_file()]

    def spoil(self, content: bytes) -> None:
        newest = max((self.folder / "snapshots" / "hana").iterdir())
        newest.write_bytes(newest.read_bytes()[:512] + content)


class InBucket(Shelf):
    def __init__(self, store: SnapshotStore, folder: Path, client: Any, name: str) -> None:
        super().__init__(store, folder)
        self.s3, self.bucket = client, name

    def kept(self) -> list[bytes]:
        listed = self.s3.list_object_versions(Bucket=self.bucket)
        assert not listed.get("DeleteMarkers")
        found = []
        for each in listed.get("Versions", ()):
            got = self.s3.get_object(
                Bucket=self.bucket, Key=each["Key"], VersionId=each["VersionId"]
            )
            found.append(got["Body"].read())
        return found

    def spoil(self, content: bytes) -> None:
        key = "search/hana/index.db"
        head = self.s3.head_object(Bucket=self.bucket, Key=key)
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=content, Metadata=head["Metadata"])


@contextmanager
def directory(folder: Path, clock: FakeClock) -> Iterator[Shelf]:
    yield InDirectory(DirectorySnapshots(folder / "snapshots", clock), folder)


@contextmanager
def s3(folder: Path, clock: FakeClock) -> Iterator[Shelf]:
    with account(clock) as opened:
        client, bucket = opened.client("s3"), opened.bucket()
        yield InBucket(S3Snapshots(client, bucket, clock), folder, client, bucket)


@contextmanager
def s3_in_memory(folder: Path, clock: FakeClock) -> Iterator[Shelf]:
    opened = MemoryAccount(clock)
    client, bucket = opened.client("s3"), opened.bucket()
    yield InBucket(S3Snapshots(client, bucket, clock), folder, client, bucket)


@pytest.fixture(params=(directory, s3, s3_in_memory), ids=lambda opens: opens.__name__)
def shelf(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Shelf]:
    with request.param(tmp_path, clock) as opened:
        yield opened


def test_an_agent_without_snapshots_has_none(shelf: Shelf) -> None:
    assert shelf.store.newest("hana") is None
    shelf.store.remove("hana")
    assert shelf.store.newest("hana") is None


@pytest.mark.parametrize("content", [b"", b"crab", "蟹の記憶🦀".encode() * 300_000])
def test_what_was_published_is_fetched_as_it_was(
    shelf: Shelf, clock: FakeClock, content: bytes
) -> None:
    made = shelf.put(content, None, rows=12)
    assert made is not None
    assert shelf.store.newest("hana") == made
    assert (made.agent_id, made.rows, made.tokenizer) == ("hana", 12, 3)
    assert (made.size, made.sha256) == (len(content), content_hash(content))
    assert made.published_at == clock.now()
    assert shelf.fetched(made) == content


def test_the_next_one_takes_the_place_of_the_one_it_was_built_over(shelf: Shelf) -> None:
    first = shelf.published(b"one")
    second = shelf.published(b"two", first)
    assert shelf.store.newest("hana") == second
    assert shelf.fetched(second) == b"two"


def test_a_stale_publisher_is_turned_away(shelf: Shelf) -> None:
    first = shelf.published(b"one")
    second = shelf.published(b"two", first)
    assert shelf.put(b"late", first) is None
    assert shelf.put(b"very late", None) is None
    third = shelf.published(b"three", second)
    fourth = shelf.published(b"four", third)
    for stale in (None, first, second, third):
        assert shelf.put(b"stale", stale) is None
    assert shelf.store.newest("hana") == fourth
    assert b"stale" not in b"".join(shelf.kept())


def test_of_those_who_publish_over_the_same_exactly_one_wins(shelf: Shelf) -> None:
    over: Snapshot | None = None
    for number in range(3):
        content = [f"{number} {who}".encode() for who in range(4)]
        publish = partial(_published_by, shelf, content, over)
        made = at_once(4, publish)
        (won,) = [each for each in made if each is not None]
        assert shelf.store.newest("hana") == won
        assert shelf.fetched(won) == content[made.index(won)]
        over = won


def _published_by(
    shelf: Shelf, content: list[bytes], over: Snapshot | None, who: int
) -> Snapshot | None:
    return shelf.put(content[who], over)


def test_a_reader_with_an_old_snapshot_gets_it_whole_or_not_at_all(shelf: Shelf) -> None:
    first = made = shelf.published(b"one")
    for number in range(4):
        made = shelf.published(f"next {number}".encode(), made)
    assert shelf.fetched(first) in {None, b"one"}
    assert shelf.fetched(made) == b"next 3"


@pytest.mark.parametrize("content", [b"", b"on", b"one and more", b"two"])
def test_content_that_is_not_what_its_hash_says_is_not_fetched(
    shelf: Shelf, content: bytes
) -> None:
    shelf.published(b"one")
    shelf.spoil(content)
    newest = shelf.store.newest("hana")
    assert newest is not None
    assert shelf.fetched(newest) is None
    assert not (shelf.folder / "fetched").exists()
    sound = shelf.published(b"sound", newest)
    assert shelf.fetched(sound) == b"sound"


def test_what_a_publisher_keeps_stays_as_long_as_it_is_named(shelf: Shelf) -> None:
    base = shelf.published("基".encode())
    made = shelf.published(b"next 0", base, keeps=(base,))
    first = made
    for number in range(1, 6):
        made = shelf.published(f"next {number}".encode(), made, keeps=(base, first))
    assert shelf.store.newest("hana") == made
    assert [shelf.fetched(each) for each in (base, first, made)] == [
        "基".encode(),
        b"next 0",
        b"next 5",
    ]
    assert b"next 2" not in b"".join(shelf.kept())
    assert shelf.store.remove_earlier(made, frozenset([base.version]))
    assert [shelf.fetched(each) for each in (base, first, made)] == [
        "基".encode(),
        None,
        b"next 5",
    ]
    shelf.store.remove("hana")
    assert b"".join(shelf.kept()) == b""


def test_what_is_before_the_newest_is_removed_to_the_last_byte(shelf: Shelf) -> None:
    base = shelf.published(b"secret base")
    made = shelf.published(b"secret upon it", base, keeps=(base,))
    clean = shelf.published(b"clean", made, keeps=(base, made))
    assert shelf.store.remove_earlier(clean)
    assert b"secret" not in b"".join(shelf.kept())
    assert shelf.store.remove_earlier(clean), "again"
    assert shelf.store.newest("hana") == clean
    assert shelf.fetched(clean) == b"clean"


def test_only_before_the_newest_is_anything_removed(shelf: Shelf) -> None:
    base = shelf.published(b"base")
    made = shelf.published(b"upon it", base, keeps=(base,))
    assert not shelf.store.remove_earlier(base)
    assert not shelf.store.remove_earlier(replace(made, agent_id="ken"))
    assert (shelf.fetched(base), shelf.fetched(made)) == (b"base", b"upon it")
    shelf.store.remove("hana")
    assert not shelf.store.remove_earlier(made)


def test_removal_leaves_no_byte_of_any_version(shelf: Shelf) -> None:
    made = shelf.published(b"words of taro")
    for number in range(3):
        made = shelf.published(f"words of taro {number}".encode(), made)
    shelf.store.remove("hana")
    assert shelf.store.newest("hana") is None
    assert shelf.fetched(made) is None
    assert b"".join(shelf.kept()) == b""


def test_nobody_who_built_over_what_was_removed_can_publish(shelf: Shelf) -> None:
    first = shelf.published(b"one")
    made = shelf.published(b"two", first)
    shelf.store.remove("hana")
    assert shelf.put(b"late", made) is None
    assert shelf.put(b"late", first) is None
    clean = shelf.published(b"clean")
    assert shelf.put(b"late", made) is None
    assert shelf.put(b"late", None) is None
    assert shelf.store.newest("hana") == clean


def test_agents_have_nothing_in_common(shelf: Shelf) -> None:
    hana = shelf.published(b"hana's")
    ken = shelf.published(b"ken's", agent_id="ken")
    assert shelf.put(b"mixed", hana, "ken") is None
    assert shelf.fetched(replace(hana, agent_id="ken")) is None
    shelf.store.remove("hana")
    assert shelf.store.newest("ken") == ken
    assert shelf.fetched(ken) == b"ken's"


@pytest.mark.parametrize("agent_id", ["", "..", "a/b", "../hana", "a\0b", "花", "x" * 65, "*"])
def test_an_id_that_is_none_reaches_nothing(shelf: Shelf, agent_id: str) -> None:
    made = replace(shelf.published(b"one"), agent_id=agent_id)
    with pytest.raises(Invalid):
        shelf.store.newest(agent_id)
    with pytest.raises(Invalid):
        shelf.fetched(made)
    with pytest.raises(Invalid):
        shelf.put(b"x", None, agent_id)
    with pytest.raises(Invalid):
        shelf.store.remove(agent_id)
    with pytest.raises(Invalid):
        shelf.store.remove_earlier(made)


def test_whoever_publishes_while_all_is_removed_ends_well(shelf: Shelf) -> None:
    """Afterwards there is nothing, or one whole snapshot that somebody published."""
    made = shelf.published(b"start")

    def act(number: int) -> None:
        if number == 0:
            shelf.store.remove("hana")
        else:
            shelf.put(f"{number}".encode(), made if number % 2 else None)

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(act, number) for number in range(4)]:
            assert each.exception() is None or isinstance(each.exception(), OpenCrabError)
    newest = shelf.store.newest("hana")
    assert newest is None or shelf.fetched(newest) in {b"2"}
