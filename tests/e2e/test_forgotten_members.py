"""Members of sessions under forgetting: who is forgotten is a member no more, in each home."""

from pathlib import Path

import pytest

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.engine.erasure.erase import erase_data
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.errand import RICH
from tests.e2e.conftest import Build
from tests.e2e.forgotten import HANAKO, Life, lived

IN_HOMES = DISTINCT_HOMES

TARO = "taro"


@pytest.fixture
def shared(build: Build, tmp_path: Path) -> Life:
    """A life in each home, whose sessions are shared with Hanako and with Taro."""
    house = build(RICH)
    life = lived(house, tmp_path, short=hasattr(house.home.blobs, "_bucket"))
    access = SessionAccess(members=(HANAKO, TARO))
    for session_id in ("direct", "shared", "kais"):
        fact = new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access)
        house.home.facts.commit(fact.replaced(version=0))
    return life


def members(life: Life, session_id: str) -> tuple[str, ...]:
    fact = life.house.home.facts.get(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
    return () if fact is None else fact.read(SessionAccess).members


def forget(life: Life, agent_id: str, wish: ErasureRequest) -> None:
    assert erase_data(life.house.runtime, agent_id, wish).done


def test_a_forgotten_person_is_a_member_of_no_session_of_the_agent(shared: Life) -> None:
    wish = ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)
    forget(shared, "crab", wish)
    assert [members(shared, each) for each in ("direct", "shared")] == [(TARO,)] * 2
    assert members(shared, "kais") == (HANAKO, TARO), "a session of another agent"
    forget(shared, "kai", wish)
    assert members(shared, "kais") == (TARO,)
    forget(shared, "crab", wish)


def test_a_person_who_never_said_anything_is_no_member_any_more_either(shared: Life) -> None:
    forget(shared, "crab", ErasureRequest(scope=ErasureScope.PERSON, id=TARO))
    assert members(shared, "direct") == (HANAKO,)


def test_a_forgotten_session_has_no_members(shared: Life) -> None:
    forget(shared, "crab", ErasureRequest(scope=ErasureScope.SESSION, id="direct"))
    assert (members(shared, "direct"), members(shared, "shared")) == ((), (HANAKO, TARO))


def test_where_everything_is_forgotten_no_session_of_the_agent_has_members(shared: Life) -> None:
    forget(shared, "crab", ErasureRequest(scope=ErasureScope.EVERYTHING))
    assert [members(shared, each) for each in ("direct", "shared")] == [(), ()]
