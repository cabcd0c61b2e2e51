"""The share of the day: what counts on it, and when a call is beyond it."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.engine.simulation.share_of_day import ShareCall, ShareUse, simulated_share_use

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def call(hour: float, cost: int) -> ShareCall:
    return ShareCall(at=NINE + timedelta(hours=hour), cost=cost)


@pytest.mark.parametrize(
    ("calls", "limits", "used"),
    [
        ([], [(0, 100)], ShareUse()),
        ([(1, 60), (2, 40)], [(0, 100)], ShareUse(most=1.0)),
        ([(1, 60), (2, 41)], [(0, 100)], ShareUse(most=1.01, calls_beyond=1)),
        ([(1, 60), (20, 60)], [(0, 100)], ShareUse(most=0.6)),
        ([(1, 60), (3, 1)], [(0, 100), (2, 50)], ShareUse(most=1.22, calls_beyond=1)),
        ([(1, 40), (3, 5)], [(0, 100), (2, 50)], ShareUse(most=0.9)),
        ([(1, 0)], [(0, 0)], ShareUse()),
    ],
)
def test_a_call_is_beyond_the_share_by_the_limit_that_was_in_force(
    calls: list[tuple[float, int]], limits: list[tuple[float, int]], used: ShareUse
) -> None:
    in_force = [(NINE + timedelta(hours=hour), limit) for hour, limit in limits]
    assert simulated_share_use([call(*each) for each in calls], in_force) == used
