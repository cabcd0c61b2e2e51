"""Words from one function and lines from another, however they meet: a client ends up right.

Words may be lost, arrive late, or come from a worker that has died or lost its turn; the stream may
tell a turn's end before its lines, and anything twice.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.gateways.websocket.answer_pushing import WATCHERS_KNOWN_MS
from opencrab.ports.conversation.feed import FeedEntry
from tests.soak import examples
from tests.unit.engine.known_world import opened
from tests.unit.gateways.websocket.connected import Sockets
from tests.unit.gateways.websocket.pooled import Waiting
from tests.unit.gateways.websocket.test_answer_pushing import MIKA, S1, Talk

WORDS = ("Good ", "morning ", "おはよう", "👩‍👩‍👧 ", "x" * 4_001)
WATCHING = ("session", "agent", "both")
_TARGETS = {"session": (S1,), "agent": (MIKA,), "both": (S1, MIKA)}


class Losing(Sockets):
    """Connections that fail when told to; what failed may arrive later all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: list[bool] = []
        self.late: list[tuple[str, str]] = []

    def send(self, connection_id: str, text: str) -> None:
        if self.fails and "TEXT_MESSAGE_C" in text and "CHUNK" not in text:
            if self.fails.pop():
                self.late.append((connection_id, text))
            raise Unavailable("it took too long")
        super().send(connection_id, text)

    def arrive(self) -> None:
        """Let what took too long arrive after all."""
        late, self.late = self.late, []
        for connection_id, text in late:
            super().send(connection_id, text)


@st.composite
def courses(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """What happens while a turn makes up to three calls."""
    step = st.one_of(
        st.tuples(st.just("say"), st.sampled_from(WORDS)),
        st.tuples(st.just("say"), st.sampled_from(WORDS)),
        st.tuples(st.just("run"), st.integers(0, 5)),
        st.tuples(st.just("run"), st.integers(0, 5)),
        st.tuples(st.just("fail"), st.booleans()),
        st.tuples(st.just("arrive"), st.none()),
        st.tuples(st.just("watch"), st.sampled_from(WATCHING)),
        st.tuples(st.just("over"), st.none()),
    )
    found: list[tuple[str, Any]] = []
    for _ in range(draw(st.integers(1, 3))):
        found += draw(st.lists(step, max_size=12))
        found.append(("end", draw(st.sampled_from(["said", "calls", "dies"]))))
    return found


class Course:
    """One turn, done as a course says, and every client's view of it afterwards."""

    def __init__(self, talk: Talk) -> None:
        self.talk, self.n, self.said = talk, 2, ""
        self.sockets = Losing()
        self.pool = talk.pool = Waiting()
        talk.over(self.sockets)
        talk.another_worker()
        self.names: list[str] = []
        self.do_watch("session")

    def do_watch(self, what: str) -> None:
        name = f"c{len(self.names)}"
        self.names.append(name)
        self.talk.connect(name, *_TARGETS[what])
        self.talk.world.clock.advance(WATCHERS_KNOWN_MS / 1_000)

    def do_say(self, text: str) -> None:
        self.said += text
        self.talk.says(text, self.n)

    def do_run(self, which: int) -> None:
        self.pool.step(which)

    def do_fail(self, arrives: bool) -> None:  # noqa: FBT001 - drawn
        self.sockets.fails.append(arrives)

    def do_arrive(self, _nothing: None) -> None:
        self.sockets.arrive()

    def do_over(self, _nothing: None) -> None:
        self.said = "Again "
        self.talk.says(self.said, self.n, starts_over=True)

    def do_end(self, how: str) -> None:
        if how == "dies":
            self.talk.another_worker()
        else:
            self.talk.says("", self.n, ended=True, withdrawn=how == "calls")
        self.n, self.last, self.said = self.n + 3, self.said, ""

    def close(self, how: str, order: list[int]) -> dict[int, str]:
        """End the turn; returns the lines of the session after its first one."""
        last = self.last or "nothing"
        lines = {"said": [last], "other": ["Something else"], "none": []}[how]
        status = TurnStatus.COMPLETED if lines else TurnStatus.FAILED
        self.talk.ends(*lines, status=status)
        entries: list[FeedEntry] = self.talk.entries()
        for which in order:
            self.talk.pusher.push_entries([entries[which % len(entries)]])
            self.pool.step(which)
        for entry in entries:
            self.talk.pusher.push_entries([entry])
        while self.pool.tasks:
            self.pool.step()
        self.sockets.arrive()
        return dict(enumerate(lines, 2))


@settings(max_examples=examples(60), deadline=None)
@given(
    course=courses(),
    how=st.sampled_from(["said", "other", "none"]),
    order=st.lists(st.integers(0, 3), max_size=4),
)
def test_a_client_shows_each_line_once_and_nothing_else(
    course: list[tuple[str, Any]], how: str, order: list[int]
) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder)) as world:
        done = Course(Talk(world))
        for what, argument in course:
            getattr(done, f"do_{what}")(argument)
        lines = done.close(how, order)
        for name in done.names:
            client = done.talk.client(name)
            assert client.lines == lines
            assert not client.saying
            assert not client.chunks


@pytest.mark.parametrize("arrives", [False, True])
def test_words_that_arrive_after_their_line_are_not_shown(tmp_path: Path, arrives: bool) -> None:  # noqa: FBT001
    with opened(tmp_path) as world:
        done = Course(Talk(world))
        for what, argument in (("fail", arrives), ("say", "Good "), ("run", 0), ("run", 0)):
            getattr(done, f"do_{what}")(argument)
        assert len(done.sockets.late) == arrives
        done.do_end("said")
        assert done.close("said", []) == {2: "Good "}
        assert done.talk.client("c0").lines == {2: "Good "}
