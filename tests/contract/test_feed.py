"""Change feed: what was committed, in order, to be followed from any position."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent import Identity
from opencrab.domain.conversation.message import Line
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Superseded
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.conversation.feed import DocumentChange, FeedEntry
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
from tests.contract.following import feed_of, told
from tests.contract.homes import FOLLOWED, STREAMED, OpenHome
from tests.contract.waiting import PATIENCE_SECONDS, at_once

ANYTHING = Identity(name="花")
"""What a fact holds is nobody's business here."""


def sayings(home: Home) -> list[tuple[str, str | None, str]]:
    return [(entry.kind, entry.turn_id, body(entry)) for entry in told(home)]


def body(entry: FeedEntry) -> str:
    return Line.model_validate_json(entry.body).text if entry.kind == "line" else entry.body


def test_a_home_in_which_nothing_happened_tells_nothing(home: Home) -> None:
    home.sessions.create(session())
    assert told(home) == []


def test_the_feed_tells_a_turns_life_in_order(home: Home) -> None:
    current = running(home)
    said = (line("はい。", turn_id="t1"), line(ENGLISH, turn_id="t1"))
    home.journal.commit(ending(current, lines=said))
    # Which of a change's items is told first is the home's business; each kind keeps its order.
    assert [saying for saying in sayings(home) if saying[0] == "line"] == [
        ("line", None, JAPANESE),
        ("line", "t1", "はい。"),
        ("line", "t1", ENGLISH),
    ]
    assert [saying for saying in sayings(home) if saying[0] == "turn"] == [
        ("turn", "t1", "queued"),
        ("turn", "t1", "running"),
        ("turn", "t1", "completed"),
    ]
    assert {entry.session_id for entry in told(home)} == {"s1"}


def test_the_feed_holds_lines_as_they_are_stored(home: Home) -> None:
    running(home)
    entry = next(entry for entry in told(home) if entry.kind == "line")
    assert Line.model_validate_json(entry.body) == home.journal.lines("s1")[0]


def test_steps_that_change_no_status_are_not_told(home: Home) -> None:
    current = home.journal.commit(step(running(home), intent()))
    fed = told(home)
    home.journal.commit(step(current, result()))
    assert told(home) == fed


@pytest.mark.parametrize("kind", ["memory", "experience", "summary", "forgotten"])
def test_facts_that_indexes_keep_are_told_when_they_are_made_changed_and_removed(
    home: Home, kind: str
) -> None:
    made = new_fact("hana", kind, "S1", ANYTHING)
    home.facts.commit(made)
    home.facts.commit(made.with_body(ANYTHING.replaced(name="蟹")))
    home.facts.commit(made.replaced(version=2).removed())
    told_facts = [entry for entry in told(home) if entry.kind == "fact"]
    assert {(entry.session_id, entry.turn_id) for entry in told_facts} == {("", None)}
    changes = [DocumentChange.model_validate_json(entry.body) for entry in told_facts]
    assert changes == [
        DocumentChange(owner="hana", kind=kind, id="S1", removed=removed)
        for removed in (False, False, True)
    ]


def test_facts_of_a_turn_are_told_with_it(home: Home) -> None:
    current = running(home)
    kept = new_fact("hana", "memory", "M1", ANYTHING)
    home.journal.commit(ending(current, facts=(kept,)))
    (entry,) = [entry for entry in told(home) if entry.kind == "fact"]
    assert DocumentChange.model_validate_json(entry.body).id == "M1"


def test_facts_that_no_index_keeps_are_not_told(home: Home) -> None:
    home.facts.commit(*(new_fact("hana", kind, "G1", ANYTHING) for kind in ("goal", "impression")))
    assert told(home) == []


def test_a_fact_that_was_not_written_is_not_told(home: Home) -> None:
    home.facts.commit(new_fact("hana", "memory", "M1", ANYTHING))
    fed = told(home)
    with pytest.raises(Changed):
        home.facts.commit(new_fact("hana", "memory", "M1", ANYTHING))
    assert told(home) == fed


def test_a_refused_change_is_not_told(home: Home) -> None:
    current = running(home)
    home.journal.commit(step(current, result()))
    fed = told(home)
    with pytest.raises(Superseded):
        home.journal.commit(ending(current, TurnStatus.FAILED, lines=(line(),)))
    assert told(home) == fed


@pytest.fixture(params=STREAMED, ids=lambda opens: opens.__name__)
def opens(request: pytest.FixtureRequest) -> OpenHome:
    """How to open a home that has a stream."""
    found: OpenHome = request.param
    return found


@pytest.fixture(params=FOLLOWED, ids=lambda opens: opens.__name__)
def followed(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Home]:
    """A home whose feed can be followed from where one stands."""
    with request.param(tmp_path, clock) as opened:
        yield opened


def test_a_feed_that_is_followed_keeps_the_order_of_all_that_happened(followed: Home) -> None:
    current = running(followed)
    said = (line("はい。", turn_id="t1"), line(ENGLISH, turn_id="t1"))
    followed.journal.commit(ending(current, lines=said))
    assert sayings(followed) == [
        ("line", None, JAPANESE),
        ("turn", "t1", "queued"),
        ("turn", "t1", "running"),
        ("line", "t1", "はい。"),
        ("line", "t1", ENGLISH),
        ("turn", "t1", "completed"),
    ]


def test_an_empty_feed_has_no_position(followed: Home) -> None:
    feed = feed_of(followed)
    assert feed.position() == 0
    assert feed.read(after=0, limit=10) == ()


def test_positions_grow_and_the_newest_is_the_position(followed: Home) -> None:
    running(followed)
    positions = [entry.position for entry in feed_of(followed).read(after=0, limit=100)]
    assert positions == sorted(set(positions))
    assert positions[0] > 0
    assert feed_of(followed).position() == positions[-1]


def test_a_reader_with_a_position_misses_nothing(followed: Home) -> None:
    for number in range(4):
        running(followed, f"t{number}", f"s{number}")
    seen: list[FeedEntry] = []
    while page := feed_of(followed).read(after=seen[-1].position if seen else 0, limit=5):
        assert len(page) <= 5
        seen += page
    assert tuple(seen) == feed_of(followed).read(after=0, limit=100)
    assert len(seen) == 12


def test_a_reader_at_the_end_waits_in_vain(followed: Home) -> None:
    running(followed)
    started = time.monotonic()
    assert not feed_of(followed).wait(after=feed_of(followed).position(), seconds=0.05)
    assert 0.05 <= time.monotonic() - started < PATIENCE_SECONDS


def test_a_reader_who_is_behind_does_not_wait(followed: Home) -> None:
    running(followed)
    started = time.monotonic()
    assert feed_of(followed).wait(after=0, seconds=PATIENCE_SECONDS)
    assert time.monotonic() - started < PATIENCE_SECONDS


def test_a_waiting_reader_is_woken_by_a_change(followed: Home) -> None:
    followed.sessions.create(session())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(feed_of(followed).wait, after=0, seconds=PATIENCE_SECONDS)
        followed.journal.admit(admission())
        assert waiting.result(PATIENCE_SECONDS)


def test_who_follows_while_eight_speak_sees_every_line_in_order(followed: Home) -> None:
    followed.sessions.create(session())

    def speak(number: int) -> None:
        asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=f"{number}番")
        followed.journal.admit(asked)

    def follow() -> list[int]:
        seen: list[int] = []
        after = 0
        while len(seen) < 8 and feed_of(followed).wait(after=after, seconds=PATIENCE_SECONDS):
            for entry in feed_of(followed).read(after=after, limit=3):
                after = entry.position
                if entry.kind == "line":
                    seen.append(Line.model_validate_json(entry.body).sequence)
        return seen

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        at_once(8, speak)
        assert following.result(2 * PATIENCE_SECONDS) == list(range(1, 9))
