"""Sessions: opened once, listed in order, ended for good."""

import pytest

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.conversation.session import Mode, Phase, SessionChange, SessionStatus
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, NOW, ending, later, running, session
from tests.contract.waiting import at_once, eventually


@pytest.mark.parametrize("theme", [JAPANESE, ENGLISH, ""])
def test_a_session_comes_back_as_it_was_created(home: Home, theme: str) -> None:
    opened = session("s1", "hana", "ken", theme=theme, mode=Mode.FACILITATED, facilitator_id="ken")
    assert home.sessions.create(opened) == opened
    assert home.sessions.get("s1") == opened


def test_creating_the_same_session_again_answers_the_first(home: Home) -> None:
    first = home.sessions.create(session("s1", "hana", "ken"))
    again = session("s1", "hana", "ken", created_at=later(9), updated_at=later(9))
    assert home.sessions.create(again) == first


def test_creating_it_again_after_it_ended_does_not_open_it_again(home: Home) -> None:
    home.sessions.create(session())
    ended = home.sessions.end("s1", NOW)
    assert home.sessions.create(session()) == ended
    assert home.sessions.get("s1").status is SessionStatus.ENDED


def test_creating_another_session_under_an_id_in_use_is_a_conflict(home: Home) -> None:
    first = home.sessions.create(session("s1", "hana"))
    for other in (session("s1", "hana", "ken"), session("s1", "hana", theme="別の話")):
        with pytest.raises(Conflict, match="s1"):
            home.sessions.create(other)
    assert home.sessions.get("s1") == first


def test_eight_creations_at_once_open_one_session(home: Home) -> None:
    answers = at_once(8, lambda _: home.sessions.create(session()))
    assert all(answer == answers[0] for answer in answers)


def test_an_unknown_session_is_not_found(home: Home) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        home.sessions.get("nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        home.sessions.end("nowhere", NOW)


def test_a_session_is_read_with_its_access(home: Home) -> None:
    opened = home.sessions.create(session())
    assert home.sessions.get_with_access("s1") == (opened, SessionAccess())
    access = SessionAccess(members=("yui",), speaks_freely=True, others_read=True)
    home.facts.commit(new_fact(INSTALLATION_FACTS, SESSION_ACCESS, "s1", access))
    assert home.sessions.get_with_access("s1") == (opened, access)
    with pytest.raises(NotFound, match="nowhere"):
        home.sessions.get_with_access("nowhere")


def test_an_ended_session_is_concluded(home: Home) -> None:
    home.sessions.create(session())
    ended = home.sessions.end("s1", later(60))
    assert (ended.status, ended.phase) == (SessionStatus.ENDED, Phase.CONCLUDED)
    assert ended.updated_at == later(60)
    assert home.sessions.get("s1") == ended


def test_ending_it_again_changes_nothing(home: Home) -> None:
    home.sessions.create(session())
    ended = home.sessions.end("s1", later(60))
    assert home.sessions.end("s1", later(120)) == ended
    assert home.sessions.get("s1") == ended


@pytest.mark.parametrize("name", [JAPANESE[:40], "Trip"])
def test_a_session_is_named_and_keeps_all_else(home: Home, name: str) -> None:
    opened = home.sessions.create(session())
    assert home.sessions.rename("s1", name) == opened.replaced(name=name)
    assert home.sessions.get("s1") == opened.replaced(name=name)
    ended = home.sessions.end("s1", later(60))
    assert home.sessions.rename("s1", None) == ended.replaced(name=None)
    with pytest.raises(NotFound, match="nowhere"):
        home.sessions.rename("nowhere", name)


def test_pages_show_every_session_once_in_order_of_ids(home: Home) -> None:
    ids = [f"s{number}" for number in (5, 3, 1, 4, 2)]
    for session_id in ids:
        home.sessions.create(session(session_id))

    def walk() -> list[str]:
        seen: list[str] = []
        while page := home.sessions.page(after=seen[-1] if seen else None, limit=2):
            seen += [found.id for found in page]
        return seen

    eventually(walk, sorted(ids))


def test_a_page_shows_sessions_as_they_are_now(home: Home) -> None:
    home.sessions.create(session())
    ended = home.sessions.end("s1", NOW)
    eventually(lambda: home.sessions.page(after=None, limit=10), (ended,))


def test_who_takes_a_seat_is_there_for_everybody(home: Home) -> None:
    home.sessions.create(session("s1", "hana"))
    seated = home.sessions.set_participants("s1", ("hana", "ken"), later(60))
    assert (seated.agent_ids, seated.updated_at) == (("hana", "ken"), later(60))
    assert home.sessions.get("s1") == seated
    left = home.sessions.set_participants("s1", ("ken",), later(90))
    assert home.sessions.get("s1") == left
    assert (left.agent_ids, left.all_time_agent_ids) == (("ken",), ("ken", "hana"))
    assert home.sessions.set_participants("s1", ("ken", "hana"), later(120)).left == ()


def test_the_same_seats_again_change_nothing(home: Home) -> None:
    home.sessions.create(session("s1", "hana"))
    seated = home.sessions.set_participants("s1", ("hana", "ken"), later(60))
    assert home.sessions.set_participants("s1", ("hana", "ken"), later(120)) == seated
    assert home.sessions.get("s1") == seated


def test_nobody_takes_a_seat_where_there_is_none(home: Home) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        home.sessions.set_participants("nowhere", ("hana",), NOW)
    home.sessions.create(session("s1", "hana"))
    ended = home.sessions.end("s1", NOW)
    with pytest.raises(Conflict, match="s1"):
        home.sessions.set_participants("s1", ("hana", "ken"), later(60))
    assert home.sessions.get("s1") == ended


def test_eight_who_seat_the_same_at_once_agree(home: Home) -> None:
    home.sessions.create(session("s1", "hana"))
    answers = at_once(8, lambda _: home.sessions.set_participants("s1", ("hana", "ken"), later(60)))
    assert {answer.agent_ids for answer in answers} == {("hana", "ken")}
    assert home.sessions.get("s1").agent_ids == ("hana", "ken")


def test_a_turn_that_closes_meanwhile_unseats_nobody(home: Home) -> None:
    turn = running(home)
    before = home.sessions.get(turn.session_id)
    together = (*before.agent_ids, "newcomer")
    home.sessions.set_participants(turn.session_id, together, later(60))
    spoke = SessionChange(agent_id=turn.agent_id, spoke_at=later(70))
    home.journal.commit(ending(turn, session=spoke))
    after = home.sessions.get(turn.session_id)
    assert after.agent_ids == together
    assert after.turn_number == before.turn_number + 1
    assert after.participants[0].last_speech_at == later(70)
