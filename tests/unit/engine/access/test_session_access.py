"""What is recorded about the readers of a session."""

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.engine.access.session_access import (
    record_access_of_unknown_people,
    record_access_speaking_freely,
)
from tests.unit.engine.known_world import World


def test_speaking_freely_is_recorded_and_taken_back_beside_the_members(world: World) -> None:
    home = world.runtime.home
    shared = SessionAccess(members=("yui",))
    home.facts.commit(new_fact(INSTALLATION_FACTS, SESSION_ACCESS, "s1", shared))
    for freely in (True, True, False):
        told = record_access_speaking_freely(home.facts, "s1", speaks_freely=freely)
        assert told == shared.replaced(speaks_freely=freely)
        assert home.sessions.get_with_access("s1")[1] == told


def test_other_readers_are_recorded_once(world: World) -> None:
    facts = world.runtime.home.facts
    assert record_access_of_unknown_people(facts, "s1") == SessionAccess(others_read=True)
    stored = facts.get(INSTALLATION_FACTS, SESSION_ACCESS, "s1")
    record_access_of_unknown_people(facts, "s1")
    assert facts.get(INSTALLATION_FACTS, SESSION_ACCESS, "s1") == stored
