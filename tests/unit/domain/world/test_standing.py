"""What a world tells of money is checked: entries add up, and prices hold for a cycle."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.world.standing import DoubtKind, WorldStanding, WorldTrust

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def told(standing: WorldStanding, **payload: Any) -> WorldStanding:
    return standing.after_message(payload, NOW, key_id="a" * 64)


def entry(number: int, change: int, balance: int) -> dict[str, int]:
    return {"entry": number, "change": change, "balance": balance}


def test_entries_that_add_up_are_kept_and_late_ones_are_passed_over() -> None:
    standing = told(WorldStanding(), account=entry(1, 100, 100))
    standing = told(standing, account=entry(2, -30, 70))
    assert told(standing, account=entry(1, 100, 100)) == standing
    assert told(standing, account=entry(2, -30, 70)) == standing
    assert standing.account is not None
    assert (standing.account.balance, standing.doubt, standing.heard_at) == (70, None, NOW)
    gap = told(standing, account=entry(5, 1, 90)).account
    assert gap is not None
    assert (gap.balance, gap.missing) == (90, 2)


@pytest.mark.parametrize("lie", [entry(2, -30, 71), entry(1, 0, 99)])
def test_a_world_whose_account_does_not_add_up_is_trusted_no_more(lie: dict[str, int]) -> None:
    trusted = WorldStanding(trust=WorldTrust(daily_limit=10))
    standing = told(told(trusted, account=entry(1, 100, 100)), account=lie)
    assert standing.doubt is not None
    assert (standing.doubt.kind, standing.is_trusted) == (DoubtKind.ACCOUNT, False)
    assert standing.doubt.told == lie["balance"]
    assert standing.doubt.expected in {70, 100}


def test_the_first_prices_of_a_cycle_are_the_ones_that_count() -> None:
    first = {"MSG_POST": 1}
    trusted = WorldStanding(trust=WorldTrust(daily_limit=10))
    standing = told(trusted, cycle=3, prices=first)
    assert told(standing, cycle=3, prices=first) == standing
    assert told(standing, cycle=2, prices={"MSG_POST": 9}) == standing
    changed = told(standing, cycle=3, prices={"MSG_POST": 9})
    assert (changed.prices, changed.is_trusted) == (first, False)
    assert changed.doubt is not None
    assert changed.doubt.kind is DoubtKind.PRICES
    assert told(standing, cycle=4, prices={"MSG_POST": 9}).prices == {"MSG_POST": 9}


@pytest.mark.parametrize(
    "payload",
    [
        {"cycle": 1, "prices": {"NO_SUCH": 1}},
        {"cycle": 1, "prices": {"MSG_POST": -1}},
        {"cycle": 1, "prices": {"MSG_POST": True}},
        {"cycle": 1, "prices": {"MSG_POST": 2**63}},
        {"cycle": 1, "prices": []},
        {"account": {}},
        {"account": 7},
        {"account": entry(-1, 0, 0)},
        {"account": entry(1, 0, 2**63)},
        {"account": {**entry(1, 0, 0), "balance": 1.5}},
    ],
)
def test_what_is_no_price_list_and_no_entry_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        told(WorldStanding(), **payload)


def test_what_is_handed_over_is_part_of_the_cost() -> None:
    standing = WorldStanding(prices={"TRANSFER": 1, "MSG_POST": 2, "BOUNTY_CREATE": 0})
    assert standing.cost("TRANSFER", {"to": "b", "amount": 30}) == 31
    assert standing.cost("BOUNTY_CREATE", {"reward": 7}) == 7
    assert standing.cost("MSG_POST", {"amount": 99}) == 2
    assert standing.cost("OBJECT_PUT", {}) is None
    for amount in (None, -1, True, 2.0, "30", 2**63):
        assert standing.cost("TRANSFER", {"amount": amount}) is None


def test_a_days_limit_is_used_up_and_begins_anew() -> None:
    standing = WorldStanding(trust=WorldTrust(daily_limit=10))
    used = standing.with_trusted_cost(6, NOW)
    assert used is not None
    assert used.with_trusted_cost(5, NOW) is None
    assert used.with_trusted_cost(None, NOW) is None
    assert used.with_trusted_cost(4, NOW) is not None
    assert used.with_trusted_cost(10, NOW + timedelta(days=1)) is not None
    assert WorldStanding().with_trusted_cost(0, NOW) is None
