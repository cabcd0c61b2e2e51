"""Two releases on one home, as in a rolling deployment and after going back: nothing is lost."""

from collections.abc import Iterator

import pytest

from opencrab.domain.autonomy.vital_signs import VITALS
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from tests.crash.scenarios import TALK, WRITE
from tests.e2e.house import House
from tests.e2e.newer_release import FIELD, NewerRelease


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As in a process that has read nothing of a newer release, before and after."""
    Value.unknown_fields_read = False
    yield
    Value.unknown_fields_read = False


def furnished(house: House) -> None:
    crab = house.agent("crab", WRITE)
    house.session(crab, house.agent("hana", TALK))
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    house.say("覚えていてください")
    house.work()


def read_all(house: House) -> None:
    """What an owner's pages and the workers read."""
    home = house.home
    assert len(home.agents.page(after=None, limit=9)) == 2
    assert [one.id for one in home.sessions.page(after=None, limit=9)] == ["s"]
    for line in house.lines():
        if line.turn_id is not None:
            assert home.journal.load(line.turn_id).records
    assert home.usage.rows("crab", limit=9)
    assert home.tallies.between("crab", "2026-01-01", "2026-12-31")
    assert home.facts.get("crab", VITALS, VITALS) is not None


def test_data_of_a_newer_release_is_read(house: House) -> None:
    furnished(house)
    assert NewerRelease(house).writes() > 10
    read_all(house)


def test_what_a_newer_release_added_is_there_after_more_turns(house: House) -> None:
    furnished(house)
    newer = NewerRelease(house)
    newer.writes()
    before = newer.places()
    turns = house.say("もう一度", "m2")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED] * 2
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"), reviews=True)
    agent = house.home.agents.get("crab").agent
    house.home.agents.save(agent.replaced(purpose="潮だまりを見る"))
    house.home.sessions.rename("s", "潮だまり")
    assert before - newer.places() == set()
    read_all(house)


def test_a_turn_goes_on_while_a_newer_release_writes_to_its_rows(house: House) -> None:
    """As when one function is of the new release already, and another is not yet."""
    house.session(house.agent("crab", WRITE))
    newer = NewerRelease(house)
    house.interrupt(newer.writes)
    turns = house.say("書いてください")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    assert len(house.lines()) == len({line.sequence for line in house.lines()}) > 0


def test_what_is_erased_takes_the_fields_that_nobody_here_can_judge_with_it(house: House) -> None:
    furnished(house)
    newer = NewerRelease(house)
    newer.writes()
    spoken = [line.sequence for line in house.lines() if line.text]
    house.home.eraser.redact("s", spoken)
    gone = {f"SESSION#s L#{sequence:010d}" for sequence in spoken}
    assert gone
    assert newer.places() & gone == set()
    assert FIELD not in str(house.lines())
