"""Change feed: what was committed, in order, to be followed from any position."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from opencrab.domain.errors import Superseded
from opencrab.domain.line import Line
from opencrab.domain.turn import TurnStatus
from opencrab.ports.feed import FeedEntry
from opencrab.ports.home import Home
from tests.contract.example import (
    ENGLISH,
    JAPANESE,
    admission,
    ending,
    intent,
    line,
    result,
    running,
    session,
    step,
    turn,
)
from tests.contract.waiting import PATIENCE_SECONDS, at_once


def told(home: Home, after: int = 0) -> list[tuple[str, str | None, str]]:
    return [
        (entry.kind, entry.turn_id, body(entry)) for entry in home.feed.read(after=after, limit=100)
    ]


def body(entry: FeedEntry) -> str:
    return Line.model_validate_json(entry.body).text if entry.kind == "line" else entry.body


def test_an_empty_feed_has_no_position(home: Home) -> None:
    assert home.feed.position() == 0
    assert home.feed.read(after=0, limit=10) == ()


def test_the_feed_tells_a_turns_life_in_order(home: Home) -> None:
    current = running(home)
    said = (line("はい。", turn_id="t1"), line(ENGLISH, turn_id="t1"))
    home.journal.commit(ending(current, lines=said))
    assert told(home) == [
        ("line", None, JAPANESE),
        ("turn", "t1", "queued"),
        ("turn", "t1", "running"),
        ("line", "t1", "はい。"),
        ("line", "t1", ENGLISH),
        ("turn", "t1", "completed"),
    ]
    assert {entry.session_id for entry in home.feed.read(after=0, limit=100)} == {"s1"}


def test_the_feed_holds_lines_as_they_are_stored(home: Home) -> None:
    running(home)
    (entry, *_) = home.feed.read(after=0, limit=1)
    assert Line.model_validate_json(entry.body) == home.journal.lines("s1")[0]


def test_steps_that_change_no_status_are_not_told(home: Home) -> None:
    current = home.journal.commit(step(running(home), intent()))
    fed = home.feed.position()
    home.journal.commit(step(current, result()))
    assert home.feed.position() == fed


def test_a_refused_change_is_not_told(home: Home) -> None:
    current = running(home)
    home.journal.commit(step(current, result()))
    fed = home.feed.position()
    with pytest.raises(Superseded):
        home.journal.commit(ending(current, TurnStatus.FAILED, lines=(line(),)))
    assert home.feed.position() == fed


def test_positions_grow_and_the_newest_is_the_position(home: Home) -> None:
    running(home)
    positions = [entry.position for entry in home.feed.read(after=0, limit=100)]
    assert positions == sorted(set(positions))
    assert positions[0] > 0
    assert home.feed.position() == positions[-1]


def test_a_reader_with_a_position_misses_nothing(home: Home) -> None:
    for number in range(4):
        running(home, f"t{number}", f"s{number}")
    seen: list[FeedEntry] = []
    while page := home.feed.read(after=seen[-1].position if seen else 0, limit=5):
        assert len(page) <= 5
        seen += page
    assert tuple(seen) == home.feed.read(after=0, limit=100)
    assert len(seen) == 12


def test_a_reader_at_the_end_waits_in_vain(home: Home) -> None:
    running(home)
    started = time.monotonic()
    assert not home.feed.wait(after=home.feed.position(), seconds=0.05)
    assert 0.05 <= time.monotonic() - started < PATIENCE_SECONDS


def test_a_reader_who_is_behind_does_not_wait(home: Home) -> None:
    running(home)
    started = time.monotonic()
    assert home.feed.wait(after=0, seconds=PATIENCE_SECONDS)
    assert time.monotonic() - started < PATIENCE_SECONDS


def test_a_waiting_reader_is_woken_by_a_change(home: Home) -> None:
    home.sessions.create(session())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(home.feed.wait, after=0, seconds=PATIENCE_SECONDS)
        home.journal.admit(admission())
        assert waiting.result(PATIENCE_SECONDS)


def test_who_follows_while_eight_speak_sees_every_line_in_order(home: Home) -> None:
    home.sessions.create(session())

    def speak(number: int) -> None:
        asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=f"{number}番")
        home.journal.admit(asked)

    def follow() -> list[int]:
        seen: list[int] = []
        after = 0
        while len(seen) < 8 and home.feed.wait(after=after, seconds=PATIENCE_SECONDS):
            for entry in home.feed.read(after=after, limit=3):
                after = entry.position
                if entry.kind == "line":
                    seen.append(Line.model_validate_json(entry.body).sequence)
        return seen

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        at_once(8, speak)
        assert following.result(2 * PATIENCE_SECONDS) == list(range(1, 9))
