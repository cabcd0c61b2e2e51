"""Calls of which nobody knows whether they were carried out, told from those that only read."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.actions import GROUPS, Group, Registry
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.transcript import Transcript
from opencrab.ports.turn.action import ActionContext
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.engine.test_calls import DONE, Note, wrapped


class Stone:
    """Two actions over a store that never answers: one writes there, one reads."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.group = Group("stone")
        self._writing()
        self._reading()

    def _writing(self) -> None:
        @self.group.action(
            impact=Impact.SELF,
            effect=Effect.KEYED,
            ja="刻む。",
            sentences=("Carve {text}", "{text}を刻む"),
            prepare=lambda _note, _context: {"was": ""},
        )
        def carve(arguments: Note, context: ActionContext) -> ActionResult:
            """Carve it into the stone."""
            raise self._silence(arguments)

    def _reading(self) -> None:
        @self.group.action(
            impact=Impact.READ,
            effect=Effect.PURE,
            ja="読む。",
            sentences=("Read {text}", "{text}を読む"),
        )
        def decipher(arguments: Note, context: ActionContext) -> ActionResult:
            """Read what stands on the stone."""
            raise self._silence(arguments)

    def _silence(self, note: Note) -> Unavailable:
        self.heard.append(note.text)
        return Unavailable("the stone says nothing")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        yield house


@pytest.mark.parametrize(
    ("name", "state", "told"),
    [
        ("carve", CallState.UNKNOWN, "outcome unknown: the stone"),
        ("decipher", CallState.FAILED, "the stone"),
    ],
)
def test_what_a_silent_store_may_have_done_is_told_as_unknown(
    house: House, name: str, state: CallState, told: str
) -> None:
    stone = Stone()
    house.runtime = replace(house.runtime, actions=Registry((*GROUPS, stone.group)))
    replies: tuple[Reply, ...] = (wrapped(name, text="海"), DONE)
    house.session(house.agent("crab", replies))
    (turn,) = house.say("go")
    house.work()
    (step, _) = Transcript.of(house.home.journal.load(turn.id).records).steps
    (ended,) = step.results.values()
    assert ended.state is state
    assert str(ended.result.error).startswith(told)
    assert stone.heard == ["海"], "and it is not made again"
