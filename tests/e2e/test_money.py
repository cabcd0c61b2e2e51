"""What a turn costs when a provider tells less, or more, than was agreed."""

from typing import cast

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.money.budgets import budget_limits
from opencrab.ports.models.model import ChatModel
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import PRICE, Reply
from tests.e2e.house import House
from tests.e2e.talking import Telling
from tests.e2e.thinking import drawn

IN_HOMES = DISTINCT_HOMES

MODEST = Usage(input_tokens=100, output_tokens=10)


def _turn_with(house: House, usage: Usage) -> Turn:
    house.session(house.agent("crab", (Reply(text="はい"),)))
    house.provider.wrap = lambda model: cast(ChatModel, Telling(model, usage))
    (turn,) = house.say("いくらですか")
    house.work()
    return house.turn(turn.id)


def test_an_answer_costs_what_it_took_and_the_rest_goes_back(house: House) -> None:
    turn = _turn_with(house, MODEST)
    assert turn.status is TurnStatus.COMPLETED
    assert turn.spent == PRICE.cost(MODEST)
    assert drawn(house) == {turn.spent}


def test_an_answer_that_does_not_say_what_it_took_costs_its_reservation(house: House) -> None:
    turn = _turn_with(house, Usage())
    assert turn.spent > PRICE.cost(MODEST)
    assert drawn(house) == {turn.spent}


@pytest.mark.parametrize("failures", [(Fault.TIMEOUT, Fault.OVERLOADED), (Fault.TIMEOUT,) * 2])
def test_what_is_held_for_calls_that_were_perhaps_billed_is_told(
    house: House, failures: tuple[Fault, ...]
) -> None:
    crab = house.agent("crab", (Reply(text="はい", fails=failures),))
    house.session(crab)
    idle = house.agent("squid", (Reply(text="never"),))
    (turn,) = house.say("いくらですか")
    house.work()
    for _ in range(3):
        house.later(4)
    ended = house.turn(turn.id)
    assert ended.status is TurnStatus.COMPLETED
    lost = [row.cost for row in house.home.usage.rows("crab") if row.fault is Fault.TIMEOUT]
    assert len(lost) == failures.count(Fault.TIMEOUT)
    for agent, held in ((None, sum(lost)), (crab, sum(lost)), (idle, 0)):
        assert budget_limits(house.runtime, agent).unconfirmed_micro_usd == held
    assert 0 < sum(lost) < ended.spent
    assert drawn(house) == {ended.spent}
    house.clock.advance(86_400)
    assert budget_limits(house.runtime).unconfirmed_micro_usd == 0, "another day's budget"


@pytest.mark.parametrize("tokens", [10_000, 2**31 - 1])
def test_what_a_provider_counts_beyond_the_reservation_is_in_the_days_budget(
    house: House, tokens: int
) -> None:
    turn = _turn_with(house, Usage(input_tokens=10, output_tokens=tokens))
    assert turn.spent == PRICE.cost(Usage(input_tokens=10, output_tokens=tokens))
    assert drawn(house) == {turn.spent}
    house.provider.wrap = lambda model: model
    (next_turn,) = house.say("もう一度", "m2")
    house.work()
    spent_out = turn.spent > house.runtime.rules.limits.agent_day_micro_usd
    expected = TurnStatus.EXHAUSTED if spent_out else TurnStatus.COMPLETED
    assert house.turn(next_turn.id).status is expected
