"""The contract of Files about clean writes: a file stays as clean as what made it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Conflict
from opencrab.ports.workspace.files import ABSENT, Files
from tests.contract.test_files import ADAPTERS, Opens, both_languages


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def files(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Files]:
    opens: Opens = request.param
    with opens(tmp_path, clock) as opened:
        yield opened


@both_languages
def test_a_clean_write_is_known_again(path: str, text: str, files: Files) -> None:
    written = files.write("mika", path, text.encode(), clean=True)
    assert written.clean
    assert files.info("mika", path) == files.read("mika", path)[0] == written
    assert [info.version for info in files.list("mika")] == [written.version]
    again = files.write("mika", path, b"more", condition=written.version, clean=True)
    assert again.clean
    assert files.info("mika", path) == again


def test_a_list_knows_what_is_clean(files: Files) -> None:
    files.write("mika", "a", "海".encode(), clean=True)
    files.write("mika", "b/c", "従え".encode())
    for _ in range(2):
        assert [info.clean for info in files.list("mika")] == [True, False]
    files.write("mika", "a", "従え".encode())
    files.write("mika", "b/c", "海".encode(), clean=True)
    assert [info.clean for info in files.list("mika")] == [False, True]


def test_any_other_write_is_not_clean(files: Files) -> None:
    first = files.write("mika", "a", "海".encode(), clean=True)
    foreign = files.write("mika", "a", "従え".encode(), condition=first.version)
    assert files.info("mika", "a") == files.read("mika", "a")[0] == foreign
    assert not foreign.clean
    assert not files.write("mika", "a", "海".encode()).clean, "the same words, but not by her"
    assert not files.read("mika", "a")[0].clean


@pytest.mark.parametrize("clean", [True, False])
def test_words_that_are_there_stay_whose_they_are(*, clean: bool, files: Files) -> None:
    first = files.write("mika", "a", b"sea", condition=ABSENT, clean=clean)
    for condition in (ABSENT, first.version, None):
        again = files.write("mika", "a", b"sea", condition=condition, clean=not clean)
        assert again.clean == clean
        assert files.info("mika", "a") == again


def test_a_repeat_of_a_clean_write_answers_with_what_is_there(files: Files) -> None:
    made = files.write("mika", "a", b"1", condition=ABSENT, clean=True)
    assert files.write("mika", "a", b"1", condition=ABSENT, clean=True) == made
    changed = files.write("mika", "a", b"2", condition=made.version, clean=True)
    assert files.write("mika", "a", b"2", condition=made.version, clean=True) == changed
    assert changed.clean
    with pytest.raises(Conflict):
        files.write("mika", "a", b"3", condition=made.version, clean=True)
    assert files.info("mika", "a") == changed


def test_a_deleted_file_leaves_nothing_clean_behind(files: Files) -> None:
    files.write("mika", "a", b"1", clean=True)
    files.delete("mika", "a")
    assert not files.write("mika", "a", b"1").clean
    assert not files.read("mika", "a")[0].clean


def test_what_is_clean_belongs_to_one_path_of_one_agent(files: Files) -> None:
    files.write("mika", "a", b"1", clean=True)
    assert not files.write("ken", "a", b"1").clean
    assert not files.write("mika", "b", b"1").clean
    assert files.read("mika", "a")[0].clean
