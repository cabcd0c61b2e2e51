"""The fast share of the simulation of budget leases; `make money` does a million calls."""

from datetime import datetime

import pytest

from opencrab.adapters.dynamodb.money.lease import BudgetLeases
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.value import MicroUsd
from tests.money.leases import play_leases

STEPS = 6_000


def test_leases_never_exceed_a_budget_and_hold_at_most_a_twentieth_of_it() -> None:
    found = play_leases(3, 2 * STEPS)
    assert found.problems == []
    assert 0 < found.largest_pool <= 0.05
    for kind in ("draws", "refused", "kills", "conflicts", "repeats", "limits"):
        assert found.counts[kind] > 0, kind


class Generous(BudgetLeases):
    """Fills a lease without asking the budget."""

    def _fill(
        self, draw: BudgetDraw, known: object, at: datetime
    ) -> tuple[MicroUsd, MicroUsd] | None:
        return draw.micro_usd, 0


class Twice(BudgetLeases):
    """Believes that what it returned is still there, and says so in the item."""

    def _abandon(self, planned: object, at: datetime) -> None:
        super()._abandon(planned, at)  # type: ignore[arg-type]
        super()._abandon(planned, at)  # type: ignore[arg-type]


@pytest.mark.parametrize("bug", [Generous, Twice])
def test_a_seeded_bug_is_caught(bug: type[BudgetLeases]) -> None:
    assert play_leases(4, 20 * STEPS, bug).problems
