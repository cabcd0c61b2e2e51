"""Draws have the distribution that they are asked for, and come again with their seed."""

import pytest

from opencrab.domain.statistics.seeded_random import SeededRandom

DRAWS = 4_000


def moments(draws: list[float]) -> tuple[float, float]:
    """Mean and variance."""
    mean = sum(draws) / len(draws)
    return mean, sum((each - mean) ** 2 for each in draws) / len(draws)


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    first, again, other = (SeededRandom(seed) for seed in ("a", "a", "b"))
    drawn = [first.even() for _ in range(30)]
    assert drawn == [again.even() for _ in range(30)]
    assert drawn != [other.even() for _ in range(30)]
    assert len(set(drawn)) == 30


def test_even_and_normal_draws_have_their_moments() -> None:
    chance = SeededRandom("x")
    assert moments([chance.even() for _ in range(DRAWS)]) == pytest.approx(
        (1 / 2, 1 / 12), abs=0.02
    )
    assert moments([chance.normal() for _ in range(DRAWS)]) == pytest.approx((0, 1), abs=0.06)


@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (0.5, 0.5), (8, 2), (0.01, 3), (300, 100)])
def test_beta_draws_have_their_moments(ones: float, zeros: float) -> None:
    chance, whole = SeededRandom("x"), ones + zeros
    draws = [chance.beta(ones, zeros) for _ in range(DRAWS)]
    mean, spread = ones / whole, ones * zeros / whole**2 / (whole + 1)
    assert all(0 <= each <= 1 for each in draws)
    assert moments(draws) == pytest.approx((mean, spread), abs=0.012)
