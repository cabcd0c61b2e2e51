"""Journal: a session's lines, numbered without a gap and read from either end."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, NOW, line, running, session, step
from tests.contract.homes import OpenHome
from tests.soak import examples

TOTAL = 25


def filled(home: Home) -> Home:
    """A session of TOTAL lines, the message and six steps of four lines each."""
    current = running(home)
    for number in range(2, TOTAL, 4):
        texts = [JAPANESE if n % 2 else ENGLISH for n in range(number, number + 4)]
        current = home.journal.commit(step(current, lines=tuple(line(text) for text in texts)))
    return home


def test_a_session_without_words_has_no_lines(home: Home) -> None:
    home.sessions.create(session())
    assert home.journal.lines("s1") == ()
    assert home.journal.lines("unknown") == ()


def test_lines_are_numbered_without_a_gap(home: Home) -> None:
    lines = filled(home).journal.lines("s1")
    assert [one.sequence for one in lines] == list(range(1, TOTAL + 1))
    assert {one.text for one in lines} == {JAPANESE, ENGLISH}


def test_sessions_are_numbered_each_for_itself(home: Home) -> None:
    running(home, "t1", "s1")
    running(home, "t2", "s2")
    assert [one.sequence for one in home.journal.lines("s1")] == [1]
    assert [one.sequence for one in home.journal.lines("s2")] == [1]


def test_a_session_whose_id_continues_another_id_is_another_session(home: Home) -> None:
    running(home, "t1", "s1")
    running(home, "t2", "s10")
    assert [one.session_id for one in home.journal.lines("s1")] == ["s1"]


def test_forwards_a_reader_with_a_cursor_misses_nothing(home: Home) -> None:
    filled(home)
    seen: list[int] = []
    while page := home.journal.lines("s1", after=seen[-1] if seen else 0, limit=7):
        seen += [one.sequence for one in page]
    assert seen == list(range(1, TOTAL + 1))


def test_backwards_a_reader_with_a_cursor_misses_nothing(home: Home) -> None:
    filled(home)
    seen: list[int] = []
    before = None
    while page := home.journal.lines("s1", before=before, limit=7, newest_first=True):
        seen += [one.sequence for one in page]
        before = seen[-1]
    assert seen == list(range(TOTAL, 0, -1))


@pytest.mark.parametrize("group_line", [None, 1])
def test_a_line_opens_its_group_unless_it_names_the_first_line(
    home: Home, group_line: int | None
) -> None:
    current = running(home)
    said = line(group_line=group_line, turn_id="t1")
    home.journal.commit(step(current, lines=(said, said)))
    opened = [one.group_line for one in home.journal.lines("s1")]
    assert opened == [1, group_line or 2, group_line or 3]


def test_a_line_comes_back_as_it_was_written(home: Home) -> None:
    current = running(home)
    said = line(
        "心の声\n— and an inner one 🦀",
        kind=LineKind.INNER_VOICE,
        audience=Audience.SELF,
        from_agent=True,
        data={"気分": "良い", "n": [1, 2.5, None]},
        turn_id="t1",
        group_line=1,
    )
    home.journal.commit(step(current, lines=(said,)))
    assert home.journal.lines("s1", after=1) == (said.replaced(sequence=2),)


EDGE = st.integers(min_value=0, max_value=TOTAL + 2)


def test_a_page_holds_exactly_the_lines_between_its_ends(opens: OpenHome, tmp_path: Path) -> None:
    with opens(tmp_path, FakeClock(NOW)) as opened:
        home = filled(opened)

        @settings(max_examples=examples(60))
        @given(
            after=EDGE,
            before=st.none() | EDGE,
            limit=st.integers(min_value=1, max_value=TOTAL + 2),
            newest_first=st.booleans(),
        )
        def check(*, after: int, before: int | None, limit: int, newest_first: bool) -> None:
            page = home.journal.lines(
                "s1", after=after, before=before, limit=limit, newest_first=newest_first
            )
            high = TOTAL + 1 if before is None else min(before, TOTAL + 1)
            between = list(range(after + 1, high))
            if newest_first:
                between.reverse()
            assert [one.sequence for one in page] == between[:limit]

        check()
