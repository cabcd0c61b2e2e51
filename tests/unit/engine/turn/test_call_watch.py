"""A call that is watched: how often words are shown, and what its end says of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.turn.turn import Stop
from opencrab.engine.turn.call_watch import PROGRESS_MS, ActionCallWatch, CallWatch
from opencrab.ports.conversation.answers import AnswerPart, CallProgress, NoWatchers, Wants
from tests.unit.engine.known_world import NOW, World, opened


@dataclass
class Feed:
    """Watchers who note what they are told, and how often somebody asked for them."""

    parts: list[AnswerPart] = field(default_factory=list)
    asked: int = 0
    watching: bool = True

    def follow(self, wants: Wants) -> NoWatchers:
        return NoWatchers().follow(wants)

    def is_watched(self, _session_id: str, _agent_id: str) -> bool:
        self.asked += 1
        return self.watching

    def publish(self, part: AnswerPart) -> None:
        self.parts.append(part)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class Watched:
    """A turn whose model speaks, and those who watch it."""

    def __init__(self, world: World) -> None:
        self.world, self.feed = world, Feed()
        world.runtime = replace(world.runtime, answers=self.feed)

    def call(self, **rules: Any) -> CallWatch:
        self.world.rules(**rules)
        return CallWatch(self.world.begun(), 2, self.world.runtime.clock.monotonic_ms())


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with opened(tmp_path) as world:
        yield Watched(world)


@pytest.mark.parametrize(("part_ms", "most"), [(25, 42), (250, 6)])
def test_ten_thousand_deltas_in_a_second_are_a_few_parts(
    watched: Watched, part_ms: int, most: int
) -> None:
    watch, text = watched.call(answer_part_ms=part_ms), ""
    for _ in range(10_000):
        text += "蟹"
        watch.show(lambda said=text: said)  # type: ignore[misc]
        watched.world.clock.advance(0.000_1)
    watch.end(ModelAnswer(text=text))
    assert len(watched.feed.parts) <= most
    assert watched.feed.text == text


def test_an_answer_that_comes_soon_asks_for_no_watchers(watched: Watched) -> None:
    watch = watched.call(answer_first_ms=500)
    for text in ("Hel", "Hello"):
        watched.world.clock.advance(0.2)
        watch.show(lambda said=text: said)  # type: ignore[misc]
        assert not watch.is_stopped()
    watch.end(ModelAnswer(text="Hello"))
    assert (watched.feed.asked, watched.feed.parts) == (0, [])


def test_words_that_wait_for_their_time_are_shown_while_nothing_more_arrives(
    watched: Watched,
) -> None:
    watch = watched.call(answer_first_ms=500)
    watch.show(lambda: "Hello")
    watched.world.clock.advance(0.5)
    assert not watch.is_stopped()
    assert watched.feed.text == "Hello"


def test_who_begins_to_watch_sees_what_was_said_though_nothing_more_arrives(
    watched: Watched,
) -> None:
    watched.feed.watching = False
    watch = watched.call()
    watched.world.clock.advance(0.5)
    watch.show(lambda: "Hello")
    watched.feed.watching = True
    watched.world.clock.advance(0.5)
    assert not watch.is_stopped()
    assert watched.feed.text == "Hello"


def test_the_last_words_are_shown_at_the_end(watched: Watched) -> None:
    watch = watched.call()
    watch.show(lambda: "")
    watch.show(lambda: "Hello")
    watch.end(ModelAnswer(text="Hello"))
    assert watched.feed.text == "Hello"


@pytest.mark.parametrize(
    ("answer", "withdrawn"),
    [
        (ModelAnswer(text="Hello"), False),
        (
            ModelAnswer(text="Hello", calls=(ActionCall(id="1", name="ws_list", arguments={}),)),
            True,
        ),
        (None, True),
    ],
)
def test_the_end_says_whether_a_line_will_have_the_words(
    watched: Watched,
    answer: ModelAnswer | None,
    withdrawn: bool,  # noqa: FBT001
) -> None:
    watch = watched.call()
    watch.show(lambda: "Hello")
    watch.end(answer)
    assert (watched.feed.parts[-1].ended, watched.feed.parts[-1].withdrawn) == (True, withdrawn)


@pytest.mark.parametrize("pause", [False, True])
def test_words_of_a_paused_call_are_taken_back_and_of_a_stopped_one_not(
    watched: Watched,
    pause: bool,  # noqa: FBT001
) -> None:
    watch = watched.call()
    watch.show(lambda: "Half")
    turn = watch._work.turn
    watched.world.runtime.home.journal.stop(turn.id, Stop(by="owner", at=NOW, pause=pause))
    watched.world.clock.advance(1)
    assert watch.is_stopped()
    watch.end(ModelAnswer(text="Half"))
    assert watched.feed.parts[-1].withdrawn is pause


def test_a_second_stop_changes_nothing(watched: Watched) -> None:
    watch = watched.call()
    journal, turn = watched.world.runtime.home.journal, watch._work.turn
    for by in ("owner", "mika"):
        journal.stop(turn.id, Stop(by=by, at=NOW))
    watched.world.clock.advance(1)
    assert watch.is_stopped()
    assert watch.interruption.stop is not None
    assert watch.interruption.stop.by == "owner"


def test_a_running_call_renews_the_lease_of_its_turn_now_and_then(watched: Watched) -> None:
    watch = watched.call(stop_check_ms=1_000, step_lease_seconds=75)
    journal, clock = watched.world.runtime.home.journal, watched.world.clock
    turn, leases = watch._work.turn, set()
    assert turn.lease_until is not None
    for _ in range(200):
        clock.advance(1)
        assert not watch.is_stopped()
        stored = journal.header(turn.id)
        assert stored == watch._work.turn
        assert stored.lease_until is not None
        leases.add(stored.lease_until)
    last = max(leases)
    assert 50 <= (last - clock.now()).total_seconds() <= 75
    assert 4 <= len(leases) <= 9, "each is a write"
    assert journal.claim(turn.id, lease_until=last, receipt="other") is not None
    clock.advance(60)
    assert watch.is_stopped()
    assert journal.header(turn.id).lease_until == last


def test_a_flood_of_progress_is_shown_twice_a_second_and_its_newest_at_the_end(
    watched: Watched,
) -> None:
    watched.world.rules(stop_check_ms=100)
    watch = ActionCallWatch(watched.world.begun(), "mcp__crab__dig")
    for n in range(10_000):
        watch.show(n, None, f"潮{n}")
        watched.world.clock.advance(0.000_1)
    watched.world.clock.advance(PROGRESS_MS / 1_000)
    assert not watch.is_stopped()
    shown = [part.progress for part in watched.feed.parts]
    assert 2 <= len(shown) <= 4
    assert shown[-1] == CallProgress("mcp__crab__dig", 9_999, None, "潮9999")
    assert not any(part.text for part in watched.feed.parts)


@pytest.mark.parametrize(
    ("stop", "is_stopped"),
    [
        (Stop(by="owner", at=NOW), True),
        (Stop(by="owner", at=NOW, pause=True), False),
        (Stop.for_next_message(Interrupt.AFTER_STEP, NOW), False),
        (Stop.for_next_message(Interrupt.AT_ONCE, NOW), False),
    ],
)
def test_a_stop_ends_a_running_call_and_a_pause_lets_it_end_by_itself(
    watched: Watched, stop: Stop, *, is_stopped: bool
) -> None:
    watched.world.rules(stop_check_ms=100)
    work = watched.world.begun()
    watch = ActionCallWatch(work, "mcp__crab__dig")
    assert not watch.is_stopped()
    work.runtime.home.journal.stop(work.turn.id, stop)
    assert not watch.is_stopped(), "it is not looked for at every look"
    watched.world.clock.advance(0.2)
    assert watch.is_stopped() is is_stopped


def test_a_long_call_keeps_its_turn(watched: Watched) -> None:
    watched.world.rules(step_lease_seconds=75)
    work = watched.world.begun()
    watch, clock = ActionCallWatch(work, "mcp__crab__dig"), watched.world.clock
    for _ in range(120):
        clock.advance(1)
        assert not watch.is_stopped()
        until = work.runtime.home.journal.header(work.turn.id).lease_until
        assert until is not None
        assert until > clock.now()
