"""Journal: a turn that no message started is opened once, without a line."""

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import TurnChange
from tests.contract.example import NOW, later, session, turn
from tests.contract.waiting import at_once


def summarising(turn_id: str = "c1", **changes: object) -> Turn:
    """The header of a turn that makes a summary."""
    return turn(turn_id).replaced(
        trigger=Trigger.COMPACTION,
        source=Source.SCHEDULE,
        authority=Authority.SELF,
        principal_id="hana",
        group="topic:1-64",
        **changes,
    )


def test_an_opened_turn_is_stored_and_leaves_no_line(home: Home) -> None:
    home.sessions.create(session())
    opened = home.journal.open(summarising())
    assert opened == summarising()
    stored = home.journal.load("c1")
    assert (stored.turn, stored.records) == (opened, ())
    assert home.journal.lines("s1") == ()


def test_opening_it_again_answers_what_has_become_of_it(home: Home) -> None:
    home.sessions.create(session())
    home.journal.open(summarising())
    claimed = home.journal.claim("c1", lease_until=later(60), receipt="r")
    assert claimed is not None
    assert home.journal.open(summarising(hops=3)) == claimed.turn
    ended = claimed.turn.replaced(
        status=TurnStatus.COMPLETED, ended_at=NOW, lease_until=None, sequence=2
    )
    home.journal.commit(TurnChange(turn=ended, expected=1, at=NOW))
    assert home.journal.open(summarising()).status is TurnStatus.COMPLETED
    assert home.journal.claim("c1", lease_until=later(60), receipt="r2") is None


def test_a_session_that_has_ended_still_has_its_turns_opened(home: Home) -> None:
    home.sessions.create(session())
    home.sessions.end("s1", NOW)
    assert home.journal.open(summarising()).status is TurnStatus.QUEUED
    assert home.sessions.get("s1").status is SessionStatus.ENDED


def test_an_opened_turn_that_nobody_queued_is_found_when_its_lease_has_lapsed(home: Home) -> None:
    home.sessions.create(session())
    home.journal.open(summarising(lease_until=NOW))
    assert [each.id for each in home.journal.list_overdue(later(600), 10)] == ["c1"]


def test_of_two_that_open_it_at_once_both_are_answered_the_same(home: Home) -> None:
    home.sessions.create(session())
    made = at_once(4, lambda number: home.journal.open(summarising(hops=number)))
    assert len({each.hops for each in made}) == 1
