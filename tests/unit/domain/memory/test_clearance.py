"""What a turn may read, by who asks and who listens."""

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.memory.clearance import READERS, Clearance, Listeners, memory_clearance_of_turn
from tests.unit.adapters.sqlite_search.shelf import NOW

SESSION = Session(
    id="s1",
    participants=(Participant(agent_id="a1"),),
    guild_id="g1",
    created_by="p1",
    created_at=NOW,
    updated_at=NOW,
)
NOBODY, YUI = Listeners(), Listeners(people=frozenset({"yui"}))
SEVERAL = Listeners(people=frozenset({"yui", "ken"}))
SERVER, SQUARE = Listeners(others=True), Listeners(strangers=True)
FREELY = Listeners(people=frozenset({"yui"}), freely=True)


def clearance(
    authority: Authority, listeners: Listeners, person: str = "p1", session: Session = SESSION
) -> Clearance:
    return memory_clearance_of_turn(authority, person, session, listeners)


def line(authority: Authority, readers: str | None = None) -> Line:
    return Line(
        session_id="s1",
        group="g",
        kind=LineKind.ACTION,
        audience=Audience.SELF,
        speaker_id="a1",
        speaker_name="A",
        from_agent=True,
        authority=authority,
        text="ws_read",
        data={} if readers is None else {READERS: readers},
        at=NOW,
    )


@pytest.mark.parametrize("authority", list(Authority))
@pytest.mark.parametrize("listeners", [NOBODY, YUI, SEVERAL, SERVER, SQUARE])
def test_only_the_owner_and_the_agent_read_everything_and_only_unheard(
    authority: Authority, listeners: Listeners
) -> None:
    given = clearance(authority, listeners)
    unheard = listeners is NOBODY
    assert given.whole == (unheard and authority in {Authority.OWNER, Authority.SELF})
    assert (given.search.session_id, given.search.guild_id) == ("s1", "g1")
    assert bool(given.label) != given.whole


@pytest.mark.parametrize(
    ("authority", "listeners", "person", "member"),
    [
        (Authority.OWNER, YUI, "yui", False),
        (Authority.SELF, YUI, "yui", False),
        (Authority.USER, NOBODY, "p1", False),
        (Authority.USER, YUI, "", True),
        (Authority.OWNER, SEVERAL, "", True),
        (Authority.USER, SERVER, "", True),
        (Authority.OWNER, SQUARE, "", False),
        (Authority.USER, SQUARE, "", False),
        (Authority.PUBLIC, NOBODY, "", False),
        (Authority.PEER, YUI, "", False),
    ],
)
def test_a_turn_reads_what_the_least_of_asker_and_listeners_may(
    authority: Authority, listeners: Listeners, person: str, *, member: bool
) -> None:
    search = clearance(authority, listeners).search
    assert (search.person_id, search.is_member) == (person, member)


def test_where_an_owner_lets_it_speak_freely_the_asker_alone_decides() -> None:
    assert clearance(Authority.OWNER, FREELY).whole
    assert clearance(Authority.USER, FREELY).search.person_id == "p1"
    assert clearance(Authority.PUBLIC, FREELY).search.person_id == ""


def test_what_was_found_out_is_read_by_the_same_listeners_or_fewer() -> None:
    alone, yui = clearance(Authority.OWNER, NOBODY), clearance(Authority.OWNER, YUI)
    ken = clearance(Authority.USER, NOBODY, "ken")
    several, all_ = clearance(Authority.OWNER, SEVERAL), clearance(Authority.PUBLIC, NOBODY)
    order = [alone, yui, several, all_]
    for place, reader in enumerate(order):
        for wider in order[place:]:
            assert reader.reads(wider.label)
        for narrower in order[:place]:
            assert not reader.reads(narrower.label)
    assert not ken.reads(yui.label)
    assert not yui.reads(ken.label)


def test_lines_of_earlier_releases_follow_from_their_authority() -> None:
    alone, yui = clearance(Authority.OWNER, NOBODY), clearance(Authority.USER, NOBODY, "yui")
    several, all_ = clearance(Authority.OWNER, SEVERAL), clearance(Authority.PUBLIC, NOBODY)
    readers = [alone, yui, several, all_]
    for authority, told in (
        (Authority.OWNER, [True, False, False, False]),
        (Authority.SELF, [True, False, False, False]),
        (Authority.USER, [True, True, False, False]),
        (Authority.PUBLIC, [True, True, True, True]),
    ):
        assert [each.reads_line(line(authority)) for each in readers] == told
    assert yui.reads_line(line(Authority.OWNER, yui.label))


def test_what_an_agent_says_to_itself_is_for_no_channel() -> None:
    own = SESSION.replaced(hearing=Hearing.PRIVATE)
    elsewhere = Listeners(others=True, strangers=True, place="discord.1")
    told = clearance(Authority.SELF, elsewhere, "a1", own)
    said = line(Authority.SELF).replaced(kind=LineKind.SPEECH, audience=Audience.ALL)
    assert not told.reads_line(said)
    assert told.reads_line(said.replaced(data={READERS: told.label}))
    other = clearance(Authority.SELF, Listeners(others=True, place="discord.2"), "a1", own)
    assert not other.reads_line(said.replaced(data={READERS: told.label}))
    assert (told.search.session_id, told.search.person_id) == ("", "")
    assert clearance(Authority.SELF, NOBODY, "a1", own).reads_line(said)
