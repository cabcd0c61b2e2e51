"""The follower of the local home: what it missed, what it is told, and what goes wrong."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.gateways.local.index_follower import IndexFollower
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.home import Home
from tests.contract.example import NOW, profile
from tests.contract.homes import sqlite
from tests.contract.waiting import eventually
from tests.lived import Life


class Noting:
    """An indexing that notes what it is asked, and fails when it is told to."""

    def __init__(self) -> None:
        self.caught_up: list[str] = []
        self.sessions: list[str] = []
        self.failures: list[Exception] = []
        self.builds = threading.Event()
        self.builds.set()

    def catch_up(self, agent_id: str) -> None:
        self._fail()
        self.caught_up.append(agent_id)
        self.builds.wait(60)

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        self._fail()
        self.sessions += [each.session_id for each in entries if each.kind == "line"]

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with sqlite(tmp_path, FakeClock(NOW)) as opened:
        yield opened


@pytest.fixture
def life(home: Home) -> Life:
    lived = Life(home, FakeClock(NOW))
    lived.meet("s1", "hana")
    return lived


@pytest.fixture
def noting(home: Home) -> Noting:
    return Noting()


@pytest.fixture
def follower(home: Home, noting: Noting) -> Iterator[IndexFollower]:
    assert home.feed is not None
    made = IndexFollower(home.feed, noting, home.agents, pause_seconds=0.01, retry_seconds=0.01)
    yield made
    made.stop()
    made.join()


def test_it_catches_up_with_every_agent_and_then_follows(
    home: Home, life: Life, noting: Noting, follower: IndexFollower
) -> None:
    names = ["a", "b", "c", "d"]
    for name in names:
        home.agents.create(profile(name))
    follower.start()
    eventually(lambda: noting.caught_up, names)
    life.say("蟹")
    life.meet("s2", "hana")
    life.say("crab", "s2")
    eventually(lambda: noting.sessions, ["s1", "s2"])


def test_agents_of_whom_nothing_was_told_are_looked_at_again_after_a_while(
    home: Home, noting: Noting
) -> None:
    assert home.feed is not None
    home.agents.create(profile("a"))
    often = IndexFollower(home.feed, noting, home.agents, refresh_seconds=0.01)
    often.start()
    eventually(lambda: noting.caught_up[:3], ["a", "a", "a"])
    often.stop()
    often.join()


def test_the_end_does_not_wait_for_an_index_that_takes_long_to_build(
    home: Home, noting: Noting, follower: IndexFollower
) -> None:
    home.agents.create(profile("a"))
    noting.builds.clear()
    follower.start()
    eventually(lambda: noting.caught_up, ["a"])
    follower.stop()
    follower.join()
    assert not noting.builds.is_set()
    noting.builds.set()


def test_what_could_not_be_taken_in_is_told_again(
    home: Home, life: Life, noting: Noting, follower: IndexFollower
) -> None:
    home.agents.create(profile("a"))
    noting.failures = [Unavailable("the disk is full"), ValueError("a bug")]
    follower.start()
    eventually(lambda: noting.caught_up, ["a"])
    noting.failures = [ValueError("a bug"), Unavailable("the disk is full")]
    life.say("蟹")
    eventually(lambda: noting.sessions, ["s1"])


def test_what_is_said_while_it_catches_up_is_told(
    life: Life, noting: Noting, follower: IndexFollower
) -> None:
    life.say("before it starts")
    follower.start()
    eventually(lambda: noting.sessions, ["s1"])


def test_one_that_never_started_ends(follower: IndexFollower) -> None:
    follower.stop()
    follower.join()
