"""The end of a discussion, with the process killed around every write: each thing happens once.

`make soak` kills at every write; `make test` at some.
"""

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.discussion.outcome import OutcomeState, TaskAnswer
from opencrab.domain.goals.goal import GOAL
from opencrab.domain.goals.promise import PROMISE, PromiseStatus
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.value import Language
from tests.contract.homes import sqlite
from tests.crash.scheduling import Killed
from tests.e2e.house import House
from tests.e2e.release import DUE, NOTES, Release
from tests.soak import SOAK

WRITES = {"admit", "claim", "commit", "remove", "acknowledge", "continue_later"}
PORTS = ("journal", "facts", "due", "turns")
SHARE = 12
NAMES = ("kai", "nami", "umi")


@dataclass
class Death:
    """The process dies before or after the write of a number; it lives again after that."""

    at: int = 0
    after: bool = False
    writes: int = 0

    def over(self, house: House) -> None:
        """Stand between the engine and the ports that write."""
        ports: dict[str, Any] = {
            name: _Mortal(getattr(house.runtime.home, name), self) for name in PORTS
        }
        house.runtime = replace(house.runtime, home=replace(house.runtime.home, **ports))

    def call(self, write: Callable[[], Any]) -> Any:
        """Make a write, or die around it."""
        self.writes += 1
        dies = self.writes == self.at
        if dies and not self.after:
            raise Killed(str(self.at))
        done = write()
        if dies:
            raise Killed(str(self.at))
        return done


class _Mortal:
    def __init__(self, port: Any, death: Death) -> None:
        self._port, self._death = port, death

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._port, name)
        if name not in WRITES:
            return inner
        return lambda *given, **named: self._death.call(lambda: inner(*given, **named))


def _lives_on(deed: Callable[[], object]) -> None:
    try:
        deed()
    except Killed:
        deed()


def _left(folder: Path, death: Death) -> dict[str, Any]:
    house = House(sqlite, folder)
    with closing(house):
        release = Release(house, Language.JA, done_when="file:notes.md")
        death.over(house)
        _lives_on(lambda: house.say("リリースの計画を立てて"))
        _lives_on(house.work)
        for seconds in (*(61,) * 12, *(400,) * 5, *(61,) * 16):
            _lives_on(lambda seconds=seconds: house.later(seconds))  # type: ignore[misc]
        house.clock.advance((DUE - house.clock.now() + timedelta(seconds=1)).total_seconds())
        for seconds in (1, 400, 400, 1_900, 400):
            _lives_on(lambda seconds=seconds: house.later(seconds))  # type: ignore[misc]
        outcome, facts = release.stored, house.home.facts
        said = [line.text for line in house.lines(LineKind.SPEECH)]
        return {
            "state": outcome.state,
            "answers": [task.answer for task in outcome.tasks],
            "said": sum(NOTES[Language.JA] in text for text in said),
            "memories": [len(facts.page(name, MEMORY)) for name in NAMES],
            "goals": [len(facts.page(name, GOAL)) for name in NAMES],
            "promises": [len(facts.page(name, PROMISE)) for name in NAMES],
            "status": [release.promise(name).status for name in ("nami", "kai")],
            "trust": [release.trust("umi", name) for name in ("nami", "kai")],
        }


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What is left when nothing goes wrong, and after how many writes."""
    death = Death()
    return _left(tmp_path_factory.mktemp("calm"), death), death.writes


def test_nothing_goes_wrong(calm: tuple[dict[str, Any], int]) -> None:
    left, _ = calm
    assert left == {
        "state": OutcomeState.WRITTEN,
        "answers": [TaskAnswer.TAKEN_OVER] * 2,
        "said": 1,
        "memories": [1, 1, 1],
        "goals": [1, 1, 0],
        "promises": [1, 1, 0],
        "status": [PromiseStatus.KEPT, PromiseStatus.BROKEN],
        "trust": [(2, 2), (0, 2)],
    }


def test_a_process_that_dies_around_a_write_loses_and_doubles_nothing(
    calm: tuple[dict[str, Any], int], tmp_path: Path
) -> None:
    wanted, writes = calm
    points = [(at, after) for at in range(1, writes + 1) for after in (False, True)]
    some = points if SOAK else random.Random(25).sample(points, SHARE)
    for at, after in some:
        folder = tmp_path / f"{at}-{after}"
        folder.mkdir()
        assert _left(folder, Death(at, after)) == wanted, (at, after)
