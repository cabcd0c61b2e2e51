"""Calls that were perhaps billed are settled later, and the money that was held is released."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import Period, UsageRow
from opencrab.domain.value import Language
from opencrab.engine.insight.costs import Ground, turn_cost_for_insight
from opencrab.engine.money.budgets import budget_limits
from opencrab.engine.money.reconciliation import (
    calls_with_money_reserved,
    settle_money_by_provider_cost,
    settle_money_held_for_call,
)
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import CallUsage
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.thinking import drawn


@dataclass
class Vendors:
    """`ProviderDirectory` of vendors who know what some calls cost."""

    costs: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        assert timeout_seconds
        self.asked.append(f"{provider} {call_id}")
        if call_id not in self.costs:
            return CallUsage(None, "not found", "look at the bill")
        return CallUsage(Usage(input_tokens=3, reported_micro_usd=self.costs[call_id]))


def directory(vendors: Vendors) -> ProviderDirectory:
    return cast(ProviderDirectory, vendors)


def lost_call(house: House, language: Language = Language.EN) -> tuple[Turn, UsageRow]:
    """A turn whose first call was perhaps billed and whose second answered."""
    house.session(house.agent("crab", (Reply("はい", fails=(Fault.TIMEOUT,)),), language))
    (turn,) = house.say("いくらですか")
    house.work()
    house.later(4)
    (row,) = calls_with_money_reserved(house.runtime, "crab", Period.LAST_DAY).calls
    return house.turn(turn.id), row


@pytest.mark.parametrize("cost", [0, 1, 25])
def test_what_the_owner_read_on_the_bill_is_charged_and_the_rest_goes_back(
    house: House, cost: int
) -> None:
    turn, row = lost_call(house)
    assert drawn(house) == {turn.spent}
    settled = settle_money_held_for_call(house.runtime, row.id, cost, by="蟹江")
    assert settle_money_held_for_call(house.runtime, row.id, cost, by="ken") == settled
    assert settled.settlement is not None
    assert (settled.settlement.by, settled.settlement.at) == ("蟹江", house.clock.now())
    assert drawn(house) == {turn.spent - row.reserved + cost}
    assert budget_limits(house.runtime).unconfirmed_micro_usd == 0
    assert calls_with_money_reserved(house.runtime, "crab", Period.ALL).calls == ()
    explained = turn_cost_for_insight(house.runtime, turn.id)
    assert (explained.adds_up, explained.complete) == (True, True)
    assert explained.spent_micro_usd == turn.spent - row.reserved + cost
    assert explained.calls[0].ground is Ground.SETTLED
    with pytest.raises(Conflict, match="already settled"):
        settle_money_held_for_call(house.runtime, row.id, cost + 1, by="蟹江")


def test_a_cost_above_the_reservation_is_charged_only_if_it_is_meant(house: House) -> None:
    turn, row = lost_call(house)
    high = row.reserved + 5
    with pytest.raises(Invalid, match="above the reservation") as refusal:
        settle_money_held_for_call(house.runtime, row.id, high, by="owner")
    assert "--above-reservation" in (refusal.value.cure or "")
    assert drawn(house) == {turn.spent}
    settle_money_held_for_call(house.runtime, row.id, high, by="owner", above_reservation=True)
    assert drawn(house) == {turn.spent + 5}
    assert turn_cost_for_insight(house.runtime, turn.id).adds_up


def test_a_provider_that_knows_the_call_settles_it(house: House) -> None:
    turn, row = lost_call(house)
    vendors = Vendors()
    held = settle_money_by_provider_cost(house.runtime, directory(vendors), row.id)
    assert (held.call, held.problem, held.cure) == (row, "not found", "look at the bill")
    vendors.costs[row.provider_call_id] = 11
    settled = settle_money_by_provider_cost(house.runtime, directory(vendors), row.id).call
    assert settled.settlement is not None
    assert (settled.cost, settled.usage.input_tokens) == (11, 3)
    assert settled.settlement.by == f"provider:{row.provider}"
    assert drawn(house) == {turn.spent - row.reserved + 11}
    asked = len(vendors.asked)
    assert settle_money_by_provider_cost(house.runtime, directory(vendors), row.id).call == settled
    assert len(vendors.asked) == asked, "a settled call is asked about no more"


def test_a_turn_that_still_runs_is_not_settled(house: House) -> None:
    house.session(house.agent("crab", (Reply("はい", fails=(Fault.TIMEOUT,)),)))
    house.say("いくらですか")
    house.work()
    (row,) = calls_with_money_reserved(house.runtime, "crab", Period.LAST_DAY).calls
    with pytest.raises(Conflict, match="has not ended"):
        settle_money_held_for_call(house.runtime, row.id, 0, by="owner")
    assert house.home.usage.row("crab", row.id) == row


@pytest.mark.parametrize("call_id", ["x", "蟹", "20260217T090000.000000Z-nobody-0001"])
def test_a_call_that_is_not_there_cannot_be_settled(house: House, call_id: str) -> None:
    with pytest.raises((NotFound, Invalid)):
        settle_money_held_for_call(house.runtime, call_id, 0, by="owner")
    with pytest.raises((NotFound, Invalid)):
        settle_money_by_provider_cost(house.runtime, directory(Vendors()), call_id)
    with pytest.raises(NotFound):
        calls_with_money_reserved(house.runtime, "誰か", Period.ALL)
