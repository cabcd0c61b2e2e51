"""How a message that one function sent ends with the line that another one sends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.document import new_fact
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.conversation.live_events import Event, TurnMoved, events_of_session_line
from opencrab.engine.conversation.streamed_answers import (
    STREAMED,
    StreamedAnswer,
    StreamedAnswers,
    session_answer_digest,
)
from tests.unit.engine.known_world import NOW, World, opened


class Said:
    """A turn that said one thing, and what was sent of it while it arrived."""

    def __init__(self, world: World, text: str) -> None:
        self.world, self.text = world, text
        self.turn = world.say("もしもし")[0]
        world.spoken(self.turn, text)

    def line(self) -> Line:
        return self.world.runtime.home.journal.lines("s1", limit=1, newest_first=True)[0]

    def sent(self, text: str, *, begun: str = "a b", whole: str = "a") -> StreamedAnswers:
        digest = session_answer_digest(text) if text else ""
        streamed = StreamedAnswer(
            message_id="m", begun=tuple(begun.split()), whole=tuple(whole.split()), digest=digest
        )
        fact = new_fact("s1", STREAMED, self.turn.id, streamed)
        self.world.runtime.home.facts.commit(fact.replaced(version=0))
        return StreamedAnswers(self.world.runtime.home)

    def moved(self, status: TurnStatus) -> TurnMoved:
        return TurnMoved(turn=self.turn, status=status, at=NOW)


@pytest.fixture(params=["おはよう🦀", "Good morning"])
def said(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Said]:
    with opened(tmp_path) as world:
        yield Said(world, request.param)


def ends(events: Iterator[Event]) -> list[tuple[str, bool]]:
    return [(each["type"][13:], "withdrawn" in each["metadata"]) for each in events]


def test_each_connection_is_told_what_it_lacks(said: Said) -> None:
    streamed, line = said.sent(said.text), said.line()
    (end,) = streamed.of_line(line, "a")
    assert (end["type"], end["messageId"]) == ("TEXT_MESSAGE_END", "m")
    assert end["metadata"] == events_of_session_line(line)[-1]["metadata"]
    assert ends(streamed.of_line(line, "b")) == [("END", True), ("CHUNK", False)]
    assert ends(streamed.of_line(line, "c")) == [("CHUNK", False)]


@pytest.mark.parametrize("sent", ["", "Something else"])
def test_a_line_that_says_something_else_ends_no_message(said: Said, sent: str) -> None:
    streamed = said.sent(sent)
    assert list(streamed.of_line(said.line(), "a")) == list(events_of_session_line(said.line()))
    assert ends(streamed.of_turn(said.moved(TurnStatus.COMPLETED), "a")) == [("END", True)]
    assert not list(streamed.of_turn(said.moved(TurnStatus.COMPLETED), "c"))


@pytest.mark.parametrize("changes", [{"kind": LineKind.SYSTEM}, {"turn_id": None}])
def test_only_what_the_agent_says_in_that_turn_ends_it(
    said: Said, changes: dict[str, object]
) -> None:
    line = said.line().replaced(**changes)
    assert list(said.sent(said.text).of_line(line, "a")) == list(events_of_session_line(line))


@pytest.mark.parametrize("status", TurnStatus)
def test_what_the_line_has_ended_is_not_taken_back(said: Said, status: TurnStatus) -> None:
    assert not list(said.sent(said.text).of_turn(said.moved(status), "a"))


def test_a_line_that_is_far_back_is_taken_to_have_ended_it(said: Said) -> None:
    streamed = said.sent(said.text)
    for number in range(64):
        said.world.say(f"{number}")
    assert not list(streamed.of_turn(said.moved(TurnStatus.COMPLETED), "a"))


@pytest.mark.parametrize("status", [TurnStatus.QUEUED, TurnStatus.RUNNING])
def test_a_turn_that_goes_on_ends_nothing(said: Said, status: TurnStatus) -> None:
    assert not list(said.sent("").of_turn(said.moved(status), "a"))
