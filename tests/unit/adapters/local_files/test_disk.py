"""A write to the disk: the old content or the new at every failure, never half of one."""

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from opencrab.adapters.local_files import Disk, LocalFiles
from opencrab.domain.errors import Invalid, OpenCrabError, TooLarge, Unavailable
from opencrab.ports.workspace.files import ABSENT
from tests.unit.adapters.local_files.disks import Faults, growing, short_writes

PATH = "メモ/今日/a.md"
OLD, NEW = "古い内容".encode() * 10, b"new content " * 20
MOST_CALLS = 40


def counted(folder: Path, *, existing: bool) -> list[str]:
    """The calls of one write when nothing fails."""
    faults = Faults()
    files = LocalFiles(folder, disk=faults.disk())
    if existing:
        files.write("mika", PATH, OLD)
    faults.arm(-1)
    files.write("mika", PATH, NEW)
    return list(faults.calls)


@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
def test_a_write_reaches_the_disk_in_the_order_that_a_crash_forgives(
    tmp_path: Path, *, existing: bool
) -> None:
    calls = counted(tmp_path, existing=existing)
    assert len(calls) < MOST_CALLS
    written, replaced = calls.index("write"), calls.index("replace")
    assert "fsync" in calls[written:replaced], "content first"
    assert "fsync" in calls[replaced:], "then the folder's entry"
    assert calls.count("replace") == 1


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
def test_whatever_call_fails_there_is_the_old_content_or_the_new(
    tmp_path: Path, *, existing: bool, afterwards: bool
) -> None:
    for at in range(MOST_CALLS):
        folder = tmp_path / f"call {at}"
        faults = Faults(afterwards=afterwards)
        files = LocalFiles(folder, disk=faults.disk())
        if existing:
            files.write("mika", PATH, OLD)
        faults.arm(at)
        with suppress(Unavailable):
            files.write("mika", PATH, NEW)
            assert not faults.failed, "a failure must not pass for a success"
        faults.arm(-1)
        for reader in (files, LocalFiles(folder)):
            check_whole(reader, existing=existing)
        assert growing(folder) == []
        files.write("mika", PATH, NEW)
        assert files.read("mika", PATH)[1] == NEW


def check_whole(files: LocalFiles, *, existing: bool) -> None:
    """One file with one of the two contents, or none if there was none; nothing else shows."""
    listed = files.list("mika")
    assert [info.path for info in listed] in ([[PATH]] if existing else [[PATH], []])
    if listed:
        assert files.read("mika", PATH) in [(listed[0], NEW), (listed[0], OLD if existing else NEW)]


def test_a_conditional_write_that_failed_can_be_repeated(tmp_path: Path) -> None:
    for at in range(MOST_CALLS):
        faults = Faults(afterwards=True)
        files = LocalFiles(tmp_path / f"call {at}", disk=faults.disk())
        faults.arm(at)
        with suppress(Unavailable):
            files.write("mika", PATH, NEW, condition=ABSENT)
        faults.arm(-1)
        files.write("mika", PATH, NEW, condition=ABSENT)
        assert files.read("mika", PATH)[1] == NEW
        assert "fsync" in faults.calls, "what an earlier attempt may not have made lasting"


@pytest.mark.parametrize("at", range(8))
def test_a_deletion_that_fails_is_whole_as_well(at: int, tmp_path: Path) -> None:
    faults = Faults()
    files = LocalFiles(tmp_path, disk=faults.disk())
    files.write("mika", PATH, OLD)
    faults.arm(at)
    with suppress(Unavailable):
        files.delete("mika", PATH)
    faults.arm(-1)
    listed = files.list("mika")
    assert [files.read("mika", info.path)[1] for info in listed] in ([OLD], [])


def test_a_quota_counts_right_after_a_failure(tmp_path: Path) -> None:
    faults = Faults(afterwards=True)
    files = LocalFiles(tmp_path, 100, disk=faults.disk())
    for at in range(MOST_CALLS):
        faults.arm(at)
        with suppress(Unavailable):
            files.write("mika", "a", b"x" * 100)
    faults.arm(-1)
    files.write("mika", "a", b"x" * 99)
    files.write("mika", "b", b"x")
    with pytest.raises(TooLarge):
        files.write("mika", "c", b"x")


def test_a_disk_that_takes_few_bytes_at_a_time_gets_them_all(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path, disk=short_writes(7))
    files.write("mika", PATH, NEW)
    assert files.read("mika", PATH)[1] == NEW


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (errno.ENOSPC, Unavailable, "disk full"),
        (errno.EDQUOT, Unavailable, "disk full"),
        (errno.EACCES, Unavailable, "no permission"),
        (errno.EROFS, Unavailable, "no permission"),
        (errno.ENAMETOOLONG, Invalid, "cannot use this name"),
        (errno.EIO, Unavailable, "cannot be used"),
    ],
)
def test_an_error_of_the_disk_names_the_directory_and_the_cure(
    code: int, kind: type[OpenCrabError], told: str, tmp_path: Path
) -> None:
    def fails(source: Path, target: Path) -> None:
        raise OSError(code, "the disk says no")

    files = LocalFiles(tmp_path, disk=Disk(replace=fails))
    with pytest.raises(kind, match=told) as error:
        files.write("mika", "海.md", NEW)
    assert repr(str(tmp_path.resolve())) in error.value.message
    assert error.value.cure or code == errno.EIO
    assert files.list("mika") == ()


def test_what_a_dead_process_left_behind_is_removed_and_never_seen(tmp_path: Path) -> None:
    LocalFiles(tmp_path).write("mika", "a", OLD)
    (tmp_path / ".writing" / "halfwritten").write_bytes(NEW[:5])
    files = LocalFiles(tmp_path)
    assert growing(tmp_path) == []
    assert [info.path for info in files.list("mika")] == ["a"]
