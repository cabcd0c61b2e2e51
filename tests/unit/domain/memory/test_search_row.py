"""Who may hear of what is past."""

from dataclasses import replace

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.memory.search_row import (
    EVERYTHING,
    RowKind,
    SearchClearance,
    SearchRow,
    search_clearance,
)
from tests.unit.adapters.sqlite_search.shelf import NOW, line, memory

SESSION = Session(
    id="s1",
    participants=(Participant(agent_id="a1"),),
    guild_id="g1",
    created_by="p1",
    created_at=NOW,
    updated_at=NOW,
)
USER = SearchClearance(session_id="s1", guild_id="g1", person_id="p1")
OUTSIDER = SearchClearance(session_id="s1", guild_id="g1")
SPEECH = line(1, "x")
VOICE = replace(SPEECH, kind=RowKind.INNER_VOICE, hearing=Hearing.PRIVATE)
ELSEWHERE = replace(SPEECH, session_id="s2")


@pytest.mark.parametrize(
    ("row", "user", "outsider"),
    [
        (SPEECH, True, True),
        (VOICE, True, False),
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


@pytest.mark.parametrize("authority", list(Authority))
def test_only_the_owner_and_the_agent_itself_find_everything(authority: Authority) -> None:
    given = search_clearance(authority, SESSION, "p1")
    assert given.whole == (authority in {Authority.OWNER, Authority.SELF})
    assert given.person_id == ("p1" if authority is Authority.USER else "")
    assert (given.session_id, given.guild_id) == ("s1", "g1")


def test_a_row_is_called_by_its_session_and_number_or_by_its_kind_and_id() -> None:
    assert (SPEECH.id, memory("m1", "x").id) == ("s1:1", "memory:m1")
    assert SPEECH.is_spoken
    assert not VOICE.is_spoken
    assert not memory("m1", "x").is_spoken
