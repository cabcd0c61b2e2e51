"""Intervals hold the truth at every look, rare events and small numbers included."""

from collections.abc import Callable
from random import Random

import pytest

from opencrab.domain.statistics.confidence import (
    Estimate,
    MomentSums,
    combine_estimates,
    estimate_difference,
    estimate_mean,
    sample_moment_sums,
)

LOOKS = (2, 3, 5, 8, 13, 25, 50, 100, 200, 400)
RUNS = 60
LEAST = 0.95 - 2 * (0.05 * 0.95 / RUNS) ** 0.5
"""Two standard errors of so many runs below what is promised."""


def seeded(seed: int) -> Random:
    """Chance that comes out the same each time."""
    return Random(seed)  # noqa: S311 - nothing here is secret


def zeros_and_ones(chance: float) -> Callable[[Random], float]:
    """Numbers of which this share is 1."""
    return lambda random: float(random.random() < chance)


def thirds(random: Random) -> float:
    """How many of three things went well, each with 0.7."""
    return sum(random.random() < 0.7 for _ in range(3)) / 3


def nearly_always_so(random: Random) -> float:
    """0.9, and nothing once in fifty times: what looks sure and is not."""
    return 0.9 if random.random() < 0.98 else 0.0


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (zeros_and_ones(0.5), 0.5),
        (zeros_and_ones(0.02), 0.02),
        (zeros_and_ones(0.97), 0.97),
        (thirds, 0.7),
        (nearly_always_so, 0.882),
    ],
    ids=["even", "rare", "usual", "thirds", "nearly always"],
)
def test_whoever_looks_again_and_again_is_not_misled(
    draw: Callable[[Random], float], truth: float
) -> None:
    held = sum(_holds_always(draw, truth, seeded(seed)) for seed in range(RUNS))
    assert held / RUNS >= LEAST


@pytest.mark.parametrize(("with_it", "without"), [(0.7, 0.55), (0.5, 0.5), (0.99, 0.95)])
def test_a_difference_is_held_at_every_look_though_few_turns_are_without(
    with_it: float, without: float
) -> None:
    held = 0
    for seed in range(RUNS):
        random, given, kept = seeded(seed), MomentSums(), MomentSums()
        always = True
        for n in range(1, LOOKS[-1] + 1):
            if random.random() < 0.3:
                kept = kept.with_value(random.random() < without)
            else:
                given = given.with_value(random.random() < with_it)
            found = estimate_difference(given, kept) if n in LOOKS else None
            always &= found is None or found.low <= with_it - without <= found.high
        held += always
    assert held / RUNS >= LEAST


def test_an_interval_narrows_and_stays_within_what_is_possible() -> None:
    few, many = (
        estimate_mean(MomentSums(n=n, total=0.9 * n, squares=0.9 * n)) for n in (10, 1_000)
    )
    assert few is not None
    assert many is not None
    assert 0 <= few.low < many.low < 0.9 < many.high < few.high <= 1
    none = estimate_mean(MomentSums(n=40))
    assert none is not None
    assert (none.low, none.mean) == (0, 0)
    assert 0.05 < none.high < 0.25


def test_numbers_that_scatter_little_tell_more() -> None:
    steady = estimate_mean(sample_moment_sums([0.5] * 200))
    wild = estimate_mean(sample_moment_sums([0.0, 1.0] * 100))
    assert steady is not None
    assert wild is not None
    assert steady.high - steady.low < (wild.high - wild.low) / 2


def test_nothing_is_nothing_and_figures_that_cannot_be_are_clamped() -> None:
    assert estimate_mean(MomentSums()) is None
    assert estimate_difference(MomentSums(), sample_moment_sums([1.0])) is None
    assert estimate_difference(sample_moment_sums([1.0]), MomentSums()) is None
    broken = estimate_mean(MomentSums(n=3, total=-5, squares=99))
    assert broken is not None
    assert 0 <= broken.low <= broken.mean <= broken.high <= 1


def test_what_came_since_is_never_less_than_nothing() -> None:
    then, now = MomentSums(n=2, total=2.0, squares=2.0), MomentSums(n=5, total=3.0, squares=2.5)
    assert now.since(then) == MomentSums(n=3, total=1.0, squares=0.5)
    assert then.since(now) == MomentSums()
    assert MomentSums(n=3, total=1.0, squares=1.0).since(then) == MomentSums(n=1)


def test_parts_are_combined_by_their_weights() -> None:
    one = Estimate(n=10, mean=0.2, low=0.1, high=0.5)
    other = Estimate(n=30, mean=0.6, low=0.2, high=1.0)
    both = combine_estimates([(0.5, one), (0.5, other)])
    assert both.n == 40
    assert both.mean == pytest.approx(0.4)
    assert both.low == pytest.approx(0.4 - (0.05**2 + 0.2**2) ** 0.5)
    assert both.high == pytest.approx(0.4 + (0.15**2 + 0.2**2) ** 0.5)


def _holds_always(draw: Callable[[Random], float], truth: float, random: Random) -> bool:
    known = MomentSums()
    for n in range(1, LOOKS[-1] + 1):
        known = known.with_value(draw(random))
        found = estimate_mean(known) if n in LOOKS else None
        if found is not None and not found.low <= truth <= found.high:
            return False
    return True
