"""Who may hear of what is past."""

from dataclasses import replace

import pytest

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import (
    EVERYTHING,
    RowKind,
    SearchClearance,
    SearchRow,
)
from tests.unit.adapters.sqlite_search.shelf import line, memory

USER = SearchClearance(session_id="s1", guild_id="g1", person_id="p1")
OUTSIDER = SearchClearance(session_id="s1", guild_id="g1")
SPEECH = line(1, "x")
VOICE = replace(SPEECH, kind=RowKind.INNER_VOICE, hearing=Hearing.PRIVATE)
ELSEWHERE = replace(SPEECH, session_id="s2")


@pytest.mark.parametrize(
    ("row", "user", "outsider"),
    [
        (SPEECH, True, True),
        (VOICE, False, False),
        (replace(VOICE, kind=RowKind.INSTRUCTION), True, False),
        (ELSEWHERE, False, False),
        (replace(ELSEWHERE, hearing=Hearing.PUBLIC), True, True),
        (replace(ELSEWHERE, hearing=Hearing.GUILD, guild_id="g1"), True, True),
        (replace(ELSEWHERE, hearing=Hearing.GUILD, guild_id="g2"), False, False),
        (replace(ELSEWHERE, guild_id="g1"), False, False),
        (memory("m1", "x", session_id="s2"), False, False),
    ],
)
def test_who_finds_what(row: SearchRow, *, user: bool, outsider: bool) -> None:
    assert EVERYTHING.allows(row)
    assert (USER.allows(row), OUTSIDER.allows(row)) == (user, outsider)


def test_a_user_finds_what_was_said_where_they_spoke_but_not_what_was_thought_there() -> None:
    heard = {"s2"}
    assert USER.allows(ELSEWHERE, heard)
    assert not USER.allows(replace(VOICE, session_id="s2"), heard)
    assert not OUTSIDER.allows(ELSEWHERE, heard)


def test_no_session_and_no_guild_are_not_shared_by_those_who_have_none() -> None:
    nowhere = replace(SPEECH, session_id="", hearing=Hearing.GUILD, guild_id="")
    assert not SearchClearance(person_id="p1").allows(nowhere)


def test_where_several_listen_other_sessions_are_left_out() -> None:
    several = SearchClearance(session_id="s1", guild_id="g1", is_member=True)
    assert several.allows(memory("m1", "x", session_id="s1", hearing=Hearing.SESSION))
    assert not several.allows(VOICE)
    assert not several.allows(ELSEWHERE, {"s2"})


def test_a_row_is_called_by_its_session_and_number_or_by_its_kind_and_id() -> None:
    assert (SPEECH.id, memory("m1", "x").id) == ("s1:1", "memory:m1")
    assert SPEECH.is_spoken
    assert not VOICE.is_spoken
    assert not memory("m1", "x").is_spoken
