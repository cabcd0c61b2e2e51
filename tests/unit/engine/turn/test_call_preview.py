"""A call's words are previewed where somebody waits for its answer, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.control import stop_turn
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.house import House

WALL = Channel(kind="wall", address="42/7", awaited=True)
WORDS = pytest.mark.parametrize(
    ("language", "words", "notice"),
    [
        (Language.EN, "One two three four", "I stopped, as requested: the answer above is"),
        (
            Language.JA,
            "ひとつ ふたつ みっつ よっつ",
            "停止の指示を受けたため、上の回答は途中までです。",
        ),
    ],
)


@dataclass
class Shown:
    """A channel that remembers what its previews showed, in order."""

    told: list[str] = field(default_factory=list)
    opened: list[tuple[str, str]] = field(default_factory=list)

    def preview(self, place: Place, turn_id: str, began_ms: float) -> "Shown":
        self.opened.append((place.address, turn_id))
        return self

    def show(self, text: Callable[[], str]) -> None:
        self.told.append(text())

    def end(self) -> None:
        self.told.append("(end)")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        yield house


@pytest.fixture
def shown(house: House) -> Shown:
    shown = Shown()
    house.runtime = replace(house.runtime, previews={"wall": shown})
    return shown


def ask(house: House, *script: Reply, channel: Any = WALL, language: Language = Language.EN) -> str:
    """Somebody asks an agent that follows a script; answers the turn's id."""
    house.session(house.agent("crab", script, language))
    said = message("元気?", "m1").replaced(channel=channel)
    (turn,) = admit_turns_of_message(house.runtime, "s", said)
    house.work()
    return turn.id


@WORDS
def test_words_are_shown_while_they_come(
    house: House, shown: Shown, language: Language, words: str, notice: str
) -> None:
    turn_id = ask(house, Reply(text=words, streamed=True), language=language)
    parts = words.split(" ")
    assert shown.opened == [("42/7", turn_id)]
    assert shown.told == [*(" ".join(parts[:n]) for n in (1, 2, 3)), "(end)"]
    assert [text for _, text in house.wall.shown] == [words]


@WORDS
def test_a_stopped_answer_is_marked_and_shown_no_further(
    house: House, shown: Shown, language: Language, words: str, notice: str
) -> None:
    def stops() -> None:
        house.clock.advance(1)
        stop_turn(house.runtime, shown.opened[0][1], by="owner")

    house.provider.between_words = stops
    turn_id = ask(house, Reply(text=words, streamed=True), language=language)
    assert shown.told == [words.split(" ", maxsplit=1)[0], "(end)"]
    assert house.turn(turn_id).status is TurnStatus.STOPPED
    ((_, said),) = house.wall.shown
    assert said.startswith(" ".join(words.split(" ")[:2]) + "\n\n")
    assert notice in said


def test_each_call_before_the_first_answer_has_its_own(house: House, shown: Shown) -> None:
    ring = Reply(text="I will ring", calls=(("ring_bell", {}),), streamed=True)
    ask(house, ring, Reply(text="It rang.", streamed=True))
    assert shown.told == ["I", "I will", "(end)", "It", "(end)"]


def test_after_the_first_answer_nothing_is_previewed(house: House, shown: Shown) -> None:
    said = ("send_speech", {"content": "One", "more": True})
    speech = Reply(text="I will say it", calls=(said,), streamed=True)
    ask(house, speech, Reply(text="And so on", streamed=True))
    assert (len(shown.opened), shown.told) == (1, ["I", "I will", "I will say", "(end)"])
    assert [text for _, text in house.wall.shown] == ["One", "And so on"]


@pytest.mark.parametrize(
    "channel", [None, WALL.replaced(awaited=False), WALL.replaced(kind="other")]
)
def test_nothing_is_previewed_where_nobody_waits(
    house: House, shown: Shown, channel: Channel | None
) -> None:
    ask(house, Reply(text="One two", streamed=True), channel=channel)
    assert shown.opened == []
