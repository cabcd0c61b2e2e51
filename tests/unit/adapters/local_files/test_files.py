"""A workspace in a directory: links, foreign files, permissions, and edits by somebody else."""

import os
import stat
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalFiles
from opencrab.domain.errors import Conflict, Invalid, TooLarge, Unavailable


def workspace(root: Path) -> Path:
    """Where Mika's files lie; made by her first file."""
    LocalFiles(root).write("mika", "first.md", "海".encode())
    return root / "mika" / "workspace"


@pytest.mark.parametrize("target", ["inside", "outside", "nowhere"])
def test_a_link_is_no_file(target: str, tmp_path: Path) -> None:
    root, secret = tmp_path / "data", tmp_path / "secret.md"
    secret.write_text("秘密")
    places = {"outside": secret, "inside": Path("first.md"), "nowhere": Path("missing")}
    (workspace(root) / "link.md").symlink_to(places[target])
    files = LocalFiles(root)
    for attempt in (
        lambda: files.read("mika", "link.md"),
        lambda: files.write("mika", "link.md", b"x"),
        lambda: files.delete("mika", "link.md"),
        lambda: files.info("mika", "link.md"),
    ):
        with pytest.raises(Invalid, match="is a link or a device"):
            attempt()
    assert secret.read_text() == "秘密"
    assert [info.path for info in files.list("mika")] == ["first.md"]


def test_no_way_leads_through_a_linked_folder(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("秘密")
    (workspace(root) / "out").symlink_to(elsewhere)
    files = LocalFiles(root)
    for attempt in (
        lambda: files.read("mika", "out/a.md"),
        lambda: files.write("mika", "out/b.md", b"x"),
        lambda: files.delete("mika", "out/a.md"),
        lambda: files.list("mika", "out"),
    ):
        with pytest.raises(Invalid, match="'out' is a link or a device"):
            attempt()
    assert [each.name for each in elsewhere.iterdir()] == ["a.md"]


@pytest.mark.parametrize("link", ["mika", "mika/workspace"])
def test_a_workspace_that_is_a_link_is_none(link: str, tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    files = LocalFiles(root)
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(elsewhere)
    with pytest.raises(Invalid, match="link"):
        files.write("mika", "a.md", b"x")
    assert list(elsewhere.iterdir()) == []


def test_a_pipe_is_no_file_and_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(workspace(tmp_path) / "pipe")
    with pytest.raises(Invalid, match="device"):
        LocalFiles(tmp_path).read("mika", "pipe")


def test_files_are_readable_by_their_user_only(tmp_path: Path) -> None:
    file = workspace(tmp_path / "data") / "first.md"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (file.parent, file.parent.parent, tmp_path / "data"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["手で書き換えた", "edited by hand"])
def test_an_edit_by_hand_is_seen_and_guarded(content: str, tmp_path: Path) -> None:
    files, place = LocalFiles(tmp_path), workspace(tmp_path) / "first.md"
    before = files.list("mika")[0]
    place.write_text(content)
    assert files.read("mika", "first.md")[1].decode() == content
    assert files.list("mika")[0].sha256 != before.sha256
    with pytest.raises(Conflict):
        files.write("mika", "first.md", b"x", condition=before.version)
    assert place.read_text() == content


def test_every_write_is_later_than_all_before_it_whatever_the_clock_says(tmp_path: Path) -> None:
    files, place = LocalFiles(tmp_path), workspace(tmp_path) / "first.md"
    ahead = place.stat().st_mtime_ns + 3_600 * 10**9
    os.utime(place, ns=(ahead, ahead))
    times = [ahead]
    for n in range(20):
        files.write("mika", "first.md", f"{n}".encode())
        times.append(place.stat().st_mtime_ns)
    assert len(set(times)) == len(times)
    assert times == sorted(times)


def test_what_no_path_names_is_not_listed(tmp_path: Path) -> None:
    folder = workspace(tmp_path)
    (folder / "ends in space ").write_text("x")
    (folder / "a:b").write_text("x")
    assert [info.path for info in LocalFiles(tmp_path).list("mika")] == ["first.md"]


def test_a_quota_counts_what_another_process_left(tmp_path: Path) -> None:
    LocalFiles(tmp_path).write("mika", "a", b"x" * 90)
    files = LocalFiles(tmp_path, 100)
    with pytest.raises(TooLarge):
        files.write("mika", "b", b"x" * 11)
    files.write("mika", "b", b"x" * 10)


def test_a_file_that_grew_too_large_is_not_read(tmp_path: Path) -> None:
    (workspace(tmp_path) / "large").write_bytes(b"x" * 101)
    with pytest.raises(TooLarge, match="at most 100"):
        LocalFiles(tmp_path, file_bytes=100).read("mika", "large")


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(Unavailable, match="data"):
        LocalFiles(tmp_path / "data")


def test_no_workspace_reaches_what_lies_beside_it(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("mika", "a", b"x")
    (tmp_path / "mika" / "beside").write_text("x")
    with pytest.raises(Invalid):
        files.read("mika", "../beside")
    assert [info.path for info in files.list("mika")] == ["a"]
