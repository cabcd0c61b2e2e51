"""The contract of Files: every adapter keeps an agent's files whole, bounded and apart."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from opencrab.adapters.local_files import AttachedFiles, LocalFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace
from opencrab.ports.workspace.files import ABSENT, VERSIONS, Files
from tests.ledgers import s3_files, s3_files_in_memory

QUOTA, LARGEST = 1_000, 600

Opens = Callable[[Path, FakeClock], AbstractContextManager[Files]]


@contextmanager
def local(folder: Path, clock: FakeClock) -> Iterator[Files]:
    yield LocalFiles(folder, QUOTA, LARGEST)


@contextmanager
def attached(folder: Path, clock: FakeClock) -> Iterator[Files]:
    files = AttachedFiles(folder / "data", QUOTA, LARGEST)
    for agent_id in ("mika", "ken"):
        owned = folder / agent_id
        owned.mkdir(exist_ok=True)
        files.attach(AttachedFolder(agent_id, AttachedPlace.WORKSPACE, str(owned)))
    yield files


@contextmanager
def s3(folder: Path, clock: FakeClock) -> Iterator[Files]:
    with s3_files(clock, QUOTA, LARGEST) as opened:
        yield opened


@contextmanager
def s3_in_memory(folder: Path, clock: FakeClock) -> Iterator[Files]:
    yield s3_files_in_memory(clock, QUOTA, LARGEST)


ADAPTERS: tuple[Opens, ...] = (local, attached, s3, s3_in_memory)
"""An adapter of another home is one more line here."""

both_languages = pytest.mark.parametrize(
    ("path", "text"), [("メモ/今日.md", "海へ行った 🦀"), ("notes/today.md", "went to the sea")]
)


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def files(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Files]:
    opens: Opens = request.param
    with opens(tmp_path, clock) as opened:
        yield opened


@both_languages
def test_what_was_written_is_read(path: str, text: str, files: Files) -> None:
    written = files.write("mika", path, text.encode())
    assert (written.path, written.size) == (path, len(text.encode()))
    assert written.sha256 == content_hash(text.encode())
    assert files.read("mika", path) == (written, text.encode())
    assert files.info("mika", path) == written
    assert files.list("mika") == (written,)


def test_any_bytes_are_a_content(files: Files) -> None:
    content = bytes(range(256))
    files.write("mika", "crab.bin", content)
    assert files.read("mika", "crab.bin")[1] == content
    files.write("mika", "empty", b"")
    assert files.read("mika", "empty")[1] == b""


@both_languages
def test_a_write_replaces_the_whole_file(path: str, text: str, files: Files) -> None:
    first = files.write("mika", path, text.encode() * 5)
    second = files.write("mika", path, text.encode())
    assert files.read("mika", path) == (second, text.encode())
    assert first.version != second.version


@both_languages
def test_a_deleted_file_is_gone_with_its_folder(path: str, text: str, files: Files) -> None:
    files.write("mika", path, text.encode())
    files.delete("mika", path)
    assert files.info("mika", path) is None
    assert files.list("mika") == ()
    folder = path.partition("/")[0]
    assert files.write("mika", folder, b"now a file").path == folder


def test_a_new_file_can_be_demanded(files: Files) -> None:
    files.write("mika", "a", b"1", condition=ABSENT)
    with pytest.raises(Conflict, match="'a' was replaced"):
        files.write("mika", "a", b"2", condition=ABSENT)
    assert files.read("mika", "a")[1] == b"1"


def test_a_write_can_demand_the_version_that_it_replaces(files: Files) -> None:
    first = files.write("mika", "a", b"1")
    second = files.write("mika", "a", b"2", condition=first.version)
    with pytest.raises(Conflict, match="read it again"):
        _cured(files, "a", b"3", first.version)
    assert files.read("mika", "a") == (second, b"2")


def _cured(files: Files, path: str, content: bytes, condition: str) -> None:
    """Write, and put the cure into the message."""
    try:
        files.write("mika", path, content, condition=condition)
    except Conflict as error:
        raise Conflict(f"{error.message}: {error.cure}") from error


def test_a_write_over_what_is_gone_is_a_conflict(files: Files) -> None:
    first = files.write("mika", "a", b"1")
    files.delete("mika", "a")
    with pytest.raises(Conflict, match="'a' is gone"):
        files.write("mika", "a", b"2", condition=first.version)
    assert files.info("mika", "a") is None


@pytest.mark.parametrize("content", ["海".encode(), b"sea"])
def test_a_repeat_of_a_conditional_write_is_harmless(content: bytes, files: Files) -> None:
    made = files.write("mika", "a", content, condition=ABSENT)
    assert files.write("mika", "a", content, condition=ABSENT) == made
    changed = files.write("mika", "a", content * 2, condition=made.version)
    assert files.write("mika", "a", content * 2, condition=made.version) == changed


def test_an_old_version_never_holds_again(files: Files) -> None:
    first = files.write("mika", "a", b"1")
    files.write("mika", "a", b"2")
    files.write("mika", "a", b"1")
    with pytest.raises(Conflict):
        files.write("mika", "a", b"3", condition=first.version)
    files.delete("mika", "a")
    files.write("mika", "a", b"1")
    with pytest.raises(Conflict):
        files.write("mika", "a", b"3", condition=first.version)


def test_a_file_has_a_largest_size(files: Files) -> None:
    files.write("mika", "a", b"x" * LARGEST)
    with pytest.raises(TooLarge, match=f"'b' has {LARGEST + 1} bytes, at most {LARGEST}"):
        files.write("mika", "b", b"x" * (LARGEST + 1))
    assert files.info("mika", "b") is None


def test_a_workspace_has_a_quota(files: Files) -> None:
    files.write("mika", "a", b"x" * LARGEST)
    with pytest.raises(TooLarge, match=r"'b' needs 401 bytes more and the workspace has 400"):
        files.write("mika", "b", b"x" * (QUOTA - LARGEST + 1))
    files.write("mika", "b", b"x" * (QUOTA - LARGEST))
    with pytest.raises(TooLarge):
        files.write("mika", "c", b"x")


def test_replacing_and_deleting_free_their_share_of_the_quota(files: Files) -> None:
    files.write("mika", "a", b"x" * LARGEST)
    files.write("mika", "a", b"x" * LARGEST)
    files.write("mika", "a", b"x")
    files.write("mika", "b", b"x" * LARGEST)
    files.delete("mika", "b")
    files.write("mika", "海", b"x" * LARGEST)
    assert sum(info.size for info in files.list("mika")) == LARGEST + 1


def test_each_agent_has_a_quota_of_its_own(files: Files) -> None:
    for agent_id in ("mika", "ken"):
        files.write(agent_id, "a", b"x" * LARGEST)
        files.write(agent_id, "b", b"x" * (QUOTA - LARGEST))


@both_languages
def test_agents_do_not_see_each_others_files(path: str, text: str, files: Files) -> None:
    files.write("mika", path, text.encode())
    assert files.info("ken", path) is None
    assert files.list("ken") == ()
    files.write("ken", path, b"ken's")
    files.delete("ken", path)
    assert files.read("mika", path)[1] == text.encode()


@pytest.mark.parametrize("agent_id", ["", "../mika", "a/b", ".", "..", "海", "a" * 65, "a\x00"])
def test_an_agent_id_is_no_path(agent_id: str, files: Files) -> None:
    files.write("mika", "a", b"x")
    for attempt in (
        lambda: files.list(agent_id),
        lambda: files.read(agent_id, "a"),
        lambda: files.write(agent_id, "a", b"y"),
        lambda: files.delete(agent_id, "a"),
        lambda: files.versions(agent_id, "a"),
        lambda: files.read_version(agent_id, "a", "x:y"),
    ):
        with pytest.raises(Invalid, match="agent id"):
            attempt()


@pytest.mark.parametrize("path", ["", "../a", "/a", "a//b", "a/", "海/../../x", "a\x00", "con"])
def test_a_path_that_leaves_the_workspace_is_none(path: str, files: Files) -> None:
    for attempt in (
        lambda: files.info("mika", path),
        lambda: files.read("mika", path),
        lambda: files.write("mika", path, b"y"),
        lambda: files.delete("mika", path),
        lambda: files.versions("mika", path),
        lambda: files.read_version("mika", path, "x:y"),
    ):
        with pytest.raises(Invalid):
            attempt()
    assert files.list("mika") == ()


@pytest.mark.parametrize(
    ("existing", "twin"),
    [("Memo.md", "memo.md"), ("カニ", "ｶﾆ"), ("a/B/c", "a/b/d"), ("straße", "STRASSE")],
)
def test_a_name_that_differs_in_case_or_width_only_is_refused(
    existing: str, twin: str, files: Files
) -> None:
    files.write("mika", existing, b"1")
    with pytest.raises(Invalid, match="in case or width only"):
        files.write("mika", twin, b"2")
    assert files.info("mika", twin) is None
    assert [info.path for info in files.list("mika")] == [existing]


def test_one_name_in_two_forms_is_one_file(files: Files) -> None:
    files.write("mika", "か\u3099", b"1")
    assert files.read("mika", "が")[1] == b"1"
    assert [info.path for info in files.list("mika")] == ["が"]


def test_a_folder_is_no_file_and_a_file_no_folder(files: Files) -> None:
    files.write("mika", "a/b", b"1")
    with pytest.raises(Invalid):
        files.write("mika", "a", b"2")
    with pytest.raises(Invalid):
        files.write("mika", "a/b/c", b"2")
    assert [info.path for info in files.list("mika")] == ["a/b"]
    assert files.info("mika", "a") is None
    with pytest.raises(Invalid, match="'a' is a folder"):
        files.read("mika", "a")
    with pytest.raises(Invalid, match="'a' is a folder"):
        files.delete("mika", "a")
    with pytest.raises(Invalid, match="'a/b' is a file"):
        files.list("mika", "a/b")


@pytest.mark.parametrize(
    "path",
    ["100%/a+b&c#d=é ~'.md", "%e6%b5%b7", "家族👨‍👩‍👧".replace("\u200d", ""), "a;@!$,()[]{}"],
)
def test_a_path_may_hold_what_means_something_in_an_address(path: str, files: Files) -> None:
    written = files.write("mika", path, "海".encode())
    assert files.read("mika", path) == (written, "海".encode())
    assert files.list("mika") == (written,)
    files.delete("mika", path)
    assert files.list("mika") == ()


@pytest.mark.parametrize("name", ["海の日記" * 10, "m" * 120])
def test_the_longest_path_is_a_file_like_any_other(name: str, files: Files) -> None:
    path = "/".join([name] * 20)[:700]
    while len(path.encode()) > 700:
        path = path[:-1]
    written = files.write("mika", path, b"x")
    assert files.list("mika") == (written,)
    with pytest.raises(Invalid, match="over 700 bytes"):
        files.write("mika", path + "海" * 20, b"x")


@both_languages
def test_what_was_replaced_is_kept_and_read(path: str, text: str, files: Files) -> None:
    contents = [f"{text}{n}".encode() for n in range(3)]
    written = [files.write("mika", path, content) for content in contents]
    kept = files.versions("mika", path)
    assert [each.version for each in kept] == [info.version for info in reversed(written)]
    assert [each.size for each in kept] == [info.size for info in reversed(written)]
    assert [each.is_current for each in kept] == [True, False, False]
    assert sorted(kept, key=lambda each: each.at, reverse=True) == list(kept)
    for info, content in zip(written, contents, strict=True):
        assert files.read_version("mika", path, info.version) == content
    assert files.list("mika") == (written[-1],)


@both_languages
def test_what_was_deleted_is_kept_and_can_be_written_again(
    path: str, text: str, files: Files
) -> None:
    written = files.write("mika", path, text.encode())
    files.delete("mika", path)
    (kept,) = files.versions("mika", path)
    assert (kept.version, kept.is_current) == (written.version, False)
    assert files.read_version("mika", path, kept.version) == text.encode()
    files.write("mika", path, b"again")
    assert [each.is_current for each in files.versions("mika", path)] == [True, False]


def test_versions_belong_to_one_path_of_one_agent(files: Files) -> None:
    first = files.write("mika", "a", b"1")
    files.write("mika", "a", b"2")
    for agent_id, path in (("ken", "a"), ("mika", "a.md"), ("mika", "b")):
        assert files.versions(agent_id, path) == ()
        with pytest.raises(NotFound, match="is not stored"):
            files.read_version(agent_id, path, first.version)
    files.write("mika", "a.md", b"another")
    assert len(files.versions("mika", "a")) == 2
    files.write("mika", "folder/b", b"x")
    assert files.versions("mika", "folder") == ()


def test_a_version_that_never_was_is_not_found(files: Files) -> None:
    files.write("mika", "a", b"1")
    no_hash = "0" * 64 + "-1-1"
    for version in ("", "x", "x:y", ":", "../../a", "海", no_hash, "a\x00", "null", "x:null"):
        with pytest.raises(NotFound, match="is not stored"):
            files.read_version("mika", "a", version)


def test_so_many_versions_are_told_and_the_newest_first(files: Files) -> None:
    written = [files.write("mika", "a", f"{n}".encode()) for n in range(VERSIONS + 5)]
    kept = files.versions("mika", "a")
    assert 10 < len(kept) <= VERSIONS
    assert kept[0].version == written[-1].version
    last = [files.read_version("mika", "a", each.version) for each in kept[:11]]
    assert last == [f"{VERSIONS + 4 - n}".encode() for n in range(11)]


def test_what_is_kept_counts_for_no_quota(files: Files) -> None:
    for n in range(5):
        files.write("mika", "a", f"{n}".encode() * LARGEST)
    files.delete("mika", "a")
    files.write("mika", "a", b"x" * LARGEST)
    files.write("mika", "b", b"x" * (QUOTA - LARGEST))


def test_a_deletion_can_demand_the_version_that_it_takes_away(files: Files) -> None:
    first = files.write("mika", "a", b"1")
    second = files.write("mika", "a", b"2")
    with pytest.raises(Conflict, match="'a' was replaced"):
        files.delete("mika", "a", condition=first.version)
    assert files.info("mika", "a") == second
    files.delete("mika", "a", condition=second.version)
    assert files.info("mika", "a") is None
    with pytest.raises(NotFound):
        files.delete("mika", "a", condition=second.version)


@both_languages
def test_older_versions_are_deleted_and_the_file_stays(path: str, text: str, files: Files) -> None:
    written = [files.write("mika", path, f"{text}{n}".encode()) for n in range(3)]
    assert files.delete_versions("mika", path) == 2
    assert [each.version for each in files.versions("mika", path)] == [written[-1].version]
    assert files.read("mika", path) == (written[-1], f"{text}2".encode())
    for info in written[:-1]:
        with pytest.raises(NotFound, match="is not stored"):
            files.read_version("mika", path, info.version)
    assert files.delete_versions("mika", path) == 0


@both_languages
def test_of_a_deleted_file_every_version_is_deleted(path: str, text: str, files: Files) -> None:
    other = files.write("mika", f"{path}.md", text.encode())
    for n in range(3):
        files.write("mika", path, f"{text}{n}".encode())
    files.delete("mika", path)
    assert files.delete_versions("mika", path) == 3
    assert files.versions("mika", path) == ()
    assert files.delete_versions("mika", path) == files.delete_versions("mika", "never") == 0
    assert files.info("mika", f"{path}.md") == other
    files.write("mika", path, b"again")
    assert len(files.versions("mika", path)) == 1


def test_one_version_is_deleted_and_never_the_current_one(files: Files) -> None:
    first, second, third = (files.write("mika", "a", f"{n}".encode()) for n in range(3))
    assert files.delete_versions("mika", "a", second.version) == 1
    left = [each.version for each in files.versions("mika", "a")]
    assert left == [third.version, first.version]
    with pytest.raises(Conflict, match="is the current content"):
        files.delete_versions("mika", "a", third.version)
    for version in (second.version, "", "x", "../../a", "海", "x:null"):
        with pytest.raises(NotFound, match="is not stored"):
            files.delete_versions("mika", "a", version)
    assert files.read("mika", "a")[1] == b"2"
    files.delete("mika", "a")
    assert files.delete_versions("mika", "a", third.version) == 1
    assert [each.version for each in files.versions("mika", "a")] == [first.version]
