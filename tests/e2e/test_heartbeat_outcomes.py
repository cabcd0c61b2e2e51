"""What came of a heartbeat is stored, and its prompt says when the next like it is expected."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.autonomy.heartbeat_outcome import HeartbeatChoice
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.autonomy.heartbeat import heartbeat_outcomes
from tests.contract.homes import ENGINE_HOMES
from tests.crash.outside import Reply
from tests.e2e.beating import living, log, minutes, tell
from tests.e2e.house import House
from tests.e2e.saying import speak

SPEAKS = (Reply(text="雨が降っています。"),)


@pytest.fixture(params=ENGINE_HOMES, ids=lambda opens: opens.__name__)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    opened = House(request.param, tmp_path)
    yield opened
    opened.close()


def test_an_agent_that_spoke_is_logged_so_with_the_end_of_its_turn(house: House) -> None:
    living(house, "crab", SPEAKS)
    assert tell(house, "crab")
    minutes(house, 2, step=10)
    (beat,) = log(house, "crab")
    outcome = heartbeat_outcomes(house.home.facts, "crab", [beat.turn_id])[beat.turn_id]
    assert (outcome.decision, outcome.status) == (HeartbeatChoice.SPEAK, TurnStatus.COMPLETED)
    assert heartbeat_outcomes(house.home.facts, "crab", ["another"]) == {}


def test_a_prompt_says_when_the_next_like_it_is_expected(house: House) -> None:
    models = speak(house)
    living(house, "crab", SPEAKS, interval_seconds=601)
    told = []
    for number in range(3):
        assert tell(house, "crab", number)
        minutes(house, 22, step=30)
        told.append(next(one.asked[-1].reuse_seconds for one in reversed(models) if one.asked))
    first, second, third = told
    # Before the first pause its interval is known; then how often there was something to do.
    assert first == 601
    assert second is not None
    assert 1_100 < second < 1_500
    assert third is not None
    assert 1_100 < third < 1_500
