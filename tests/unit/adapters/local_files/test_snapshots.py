"""Snapshots in a directory: a publication that dies at any step leaves the old one or the new."""

import os
from pathlib import Path

import pytest

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.local_files.snapshots import HEAD_BYTES, LEFT_BEHIND_SECONDS
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.ports.memory.snapshots import Snapshot
from tests.contract.example import NOW
from tests.unit.adapters.local_files.disks import Faults, short_writes

STEPS = 40
"""More than a publication has."""


class Place:
    """A directory of snapshots, through disks that fail and through one that does not."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, FakeClock(NOW)
        self.root = folder / "snapshots"
        self.calm = DirectorySnapshots(self.root, self.clock)

    def through(self, faults: Faults) -> DirectorySnapshots:
        return DirectorySnapshots(self.root, self.clock, disk=faults.disk())

    def publish(
        self, store: DirectorySnapshots, content: bytes, over: Snapshot | None
    ) -> Snapshot | None:
        file = self.folder / "made"
        file.write_bytes(content)
        return store.publish("hana", file, rows=1, tokenizer=1, over=over)

    def content(self) -> bytes | None:
        newest, into = self.calm.newest("hana"), self.folder / "fetched"
        if newest is None:
            return None
        assert self.calm.fetch(newest, into)
        return into.read_bytes()

    def names(self) -> list[str]:
        return sorted(each.name for each in (self.root / "hana").iterdir())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(STEPS))
def test_a_publication_that_fails_at_any_step_leaves_a_whole_snapshot(
    place: Place, at: int, *, afterwards: bool
) -> None:
    old = place.publish(place.calm, b"old", place.publish(place.calm, b"older", None))
    assert old is not None
    faults = Faults(at, afterwards=afterwards)
    failed = False
    try:
        made = place.publish(place.through(faults), b"new", old)
    except Unavailable:
        failed, made = True, None
    assert place.content() == b"new" if made else place.content() in {b"old", b"new"}
    assert failed or made is not None
    again = place.publish(place.calm, b"again", place.calm.newest("hana"))
    assert again is not None
    assert place.content() == b"again"
    place.clock.advance(2 * LEFT_BEHIND_SECONDS + 10 * 365 * 86_400)
    last = place.publish(place.calm, b"last", again)
    assert last is not None
    assert place.names() == [
        f"{int(each.version.split('-')[0]):010d}.snapshot" for each in (again, last)
    ]


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(STEPS))
def test_a_removal_that_fails_at_any_step_can_be_repeated(
    place: Place, at: int, *, afterwards: bool
) -> None:
    old = place.publish(place.calm, b"secret old", None)
    old = place.publish(place.calm, b"secret", old)
    try:
        place.through(Faults(at, afterwards=afterwards)).remove("hana")
    except Unavailable:
        place.calm.remove("hana")
    assert place.content() is None
    assert not any(b"secret" in each.read_bytes() for each in (place.root / "hana").iterdir())
    assert place.publish(place.calm, b"stale", old) is None
    assert place.publish(place.calm, b"clean", None) is not None


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(STEPS))
def test_a_removal_of_earlier_ones_that_fails_at_any_step_can_be_repeated(
    place: Place, at: int, *, afterwards: bool
) -> None:
    base = old = place.publish(place.calm, b"base", None)
    assert base is not None
    for _ in range(3):
        made = place.through(Faults()).newest("hana")
        file = place.folder / "made"
        file.write_bytes(b"secret")
        old = place.calm.publish(
            "hana", file, rows=1, tokenizer=1, over=made, keeps=frozenset([base.version])
        )
    assert old is not None
    new = place.publish(place.calm, b"new", old)
    assert new is not None
    try:
        place.through(Faults(at, afterwards=afterwards)).remove_earlier(new)
    except Unavailable:
        assert place.calm.remove_earlier(new)
    assert place.content() == b"new"
    assert len(place.names()) == 1


def test_the_steps_of_a_publication_are_all_tried(place: Place) -> None:
    faults = Faults()
    for over in (None, True, True):
        newest = place.calm.newest("hana") if over else None
        faults.calls.clear()
        assert place.publish(place.through(faults), b"x", newest) is not None
    assert {"open_file", "write", "fsync", "close", "link", "unlink"} <= set(faults.calls)
    assert len(faults.calls) < STEPS
    before_the_link = faults.calls[: faults.calls.index("link")]
    assert before_the_link == ["open_file", "write", "write", "fsync", "close"]


def test_a_disk_that_takes_little_at_a_time_gets_it_all(place: Place) -> None:
    store = DirectorySnapshots(place.root, place.clock, disk=short_writes(7))
    assert place.publish(store, b"crab" * 1_000, None) is not None
    assert place.content() == b"crab" * 1_000


@pytest.mark.parametrize(
    "spoilt",
    [b"", b"{}", b"\0" * 600, b"SQLite format 3\0" + b"x" * 600, b'{"agent_id":"hana"}'],
)
def test_a_damaged_head_is_no_snapshot_and_is_published_over(place: Place, spoilt: bytes) -> None:
    assert place.publish(place.calm, b"one", None) is not None
    (place.root / "hana" / place.names()[-1]).write_bytes(spoilt)
    assert place.calm.newest("hana") is None
    assert place.publish(place.calm, b"two", None) is not None
    assert place.content() == b"two"


def test_another_agents_file_and_another_numbers_file_are_no_snapshots(place: Place) -> None:
    made = place.publish(place.calm, b"hana's", None)
    assert made is not None
    file = place.root / "hana" / place.names()[-1]
    (place.root / "ken").mkdir()
    (place.root / "ken" / file.name).write_bytes(file.read_bytes())
    (place.root / "hana" / "0000000009.snapshot").write_bytes(file.read_bytes())
    assert place.calm.newest("ken") is None
    assert place.calm.newest("hana") is None


def test_a_link_in_the_place_of_a_snapshot_is_not_followed(place: Place) -> None:
    made = place.publish(place.calm, b"hana's", None)
    assert made is not None
    (place.root / "ken").mkdir()
    target = place.root / "hana" / place.names()[-1]
    (place.root / "ken" / target.name).symlink_to(target)
    with pytest.raises(Invalid, match="link"):
        place.calm.newest("ken")


def test_foreign_files_in_the_folder_are_left_alone(place: Place) -> None:
    assert place.publish(place.calm, b"one", None) is not None
    note = place.root / "hana" / "README"
    note.write_text("mine")
    os.utime(note, (0, 0))
    assert place.publish(place.calm, b"two", place.calm.newest("hana")) is not None
    assert note.read_text() == "mine"


def test_a_file_has_a_head_of_one_length_and_then_the_copy(place: Place) -> None:
    assert place.publish(place.calm, b"copy", None) is not None
    stored = (place.root / "hana" / "0000000001.snapshot").read_bytes()
    assert stored[HEAD_BYTES:] == b"copy"


def test_a_publisher_who_was_away_for_long_does_not_bring_an_old_number_back(
    place: Place,
) -> None:
    """Others publish between its look at the newest and its link."""
    over = place.publish(place.calm, b"one", None)
    faults = Faults()
    slow = faults.disk()
    done: list[bool] = []

    def link(source: Path, target: Path) -> None:
        if not done:
            done.append(True)
            newest = over
            for number in range(4):
                newest = place.publish(place.calm, f"other {number}".encode(), newest)
        os.link(source, target)

    late = DirectorySnapshots(place.root, place.clock, disk=type(slow)(link=link))
    assert place.publish(late, b"late", over) is None
    assert place.content() == b"other 3"
    assert len(place.names()) == 2
