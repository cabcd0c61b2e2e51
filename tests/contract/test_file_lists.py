"""The contract of Files about lists: when a file was changed, and whether there is any."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import NotFound
from opencrab.ports.workspace.files import Files
from tests.contract.test_files import ADAPTERS, Opens


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def files(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Files]:
    opens: Opens = request.param
    with opens(tmp_path, clock) as opened:
        yield opened


def test_it_is_known_whether_a_folder_holds_files(files: Files) -> None:
    assert not files.has_files("mika", "海")
    files.write("mika", "海/浜/蟹.md", b"x")
    assert files.has_files("mika", "海")
    assert files.has_files("mika", "海/浜")
    assert not files.has_files("mika", "山")
    assert not files.has_files("ken", "海")
    assert not files.has_files("mika", "海/浜/蟹.md")


def test_a_list_says_when_a_file_was_changed(files: Files) -> None:
    files.write("mika", "海/蟹.md", b"x")
    assert [info.modified_at is not None for info in files.list("mika")] == [True]


def test_a_list_is_sorted_and_stays_below_its_folder(files: Files) -> None:
    for path in ("b", "a/2", "a/1/x", "ab/3", "海/蟹"):
        files.write("mika", path, b"x")
    assert [info.path for info in files.list("mika")] == ["a/1/x", "a/2", "ab/3", "b", "海/蟹"]
    assert [info.path for info in files.list("mika", "a")] == ["a/1/x", "a/2"]
    assert [info.path for info in files.list("mika", "a/")] == ["a/1/x", "a/2"]
    assert [info.path for info in files.list("mika", "海")] == ["海/蟹"]


def test_what_was_never_written_is_not_there(files: Files) -> None:
    assert files.info("mika", "無い.md") is None
    assert files.list("mika") == files.list("mika", "無い") == ()
    with pytest.raises(NotFound, match=r"無い\.md"):
        files.read("mika", "無い.md")
    with pytest.raises(NotFound, match=r"無い\.md"):
        files.delete("mika", "無い.md")
