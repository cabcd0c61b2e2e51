"""Folders and files of indexes that somebody removes: the search makes them again by itself."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.adapters.sqlite_search.machine import Machine, machine


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


def copies(folder: Path) -> None:
    shutil.rmtree(folder / "copies")


def copy_files(folder: Path) -> None:
    for each in (folder / "copies").rglob("*.db"):
        each.unlink()


def snapshots(folder: Path) -> None:
    shutil.rmtree(folder / "snapshots")


def everything(folder: Path) -> None:
    copies(folder)
    snapshots(folder)


REMOVALS = [copies, copy_files, snapshots, everything]


@pytest.mark.parametrize("remove", REMOVALS, ids=lambda each: each.__name__)
def test_what_was_removed_while_it_ran_is_made_again(
    at: Machine, remove: Callable[[Path], None]
) -> None:
    at.index()
    assert at.find("crab") == ["hana's crab 蟹"]
    for word in ("one", "two"):
        remove(at.folder)
        at.life.say(f"a crab said {word}")
        at.index()
        assert f"a crab said {word}" in at.find("crab")
    assert at.find("crab") == ["a crab said one", "a crab said two", "hana's crab 蟹"]
    assert at.newest().rows == 3


@pytest.mark.parametrize("remove", REMOVALS, ids=lambda each: each.__name__)
def test_a_search_alone_makes_its_copies_again(at: Machine, remove: Callable[[Path], None]) -> None:
    at.index()
    assert at.find("crab") == ["hana's crab 蟹"]
    remove(at.folder)
    at.life.say("another crab")
    at.clock.advance(61)
    assert at.find("crab") == ["another crab", "hana's crab 蟹"]
    at.life.meet("s2", "ken")
    assert at.find("crab", "ken") == []


@pytest.mark.parametrize("remove", REMOVALS, ids=lambda each: each.__name__)
def test_what_was_removed_while_nothing_ran_is_made_again(
    at: Machine, remove: Callable[[Path], None]
) -> None:
    at.index()
    remove(at.folder)
    search = at.started()
    search.catch_up("hana")
    assert at.find("crab", search=search) == ["hana's crab 蟹"]
    assert at.newest().rows == 1


def test_a_removed_copy_leaves_no_file_behind(at: Machine) -> None:
    at.find("crab")
    copies(at.folder)
    at.life.say("a second crab")
    at.clock.advance(61)
    at.find("crab")
    assert len(at.files()) == 1
    at.search.close()
    assert at.files() == []
