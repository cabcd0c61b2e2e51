"""What a model would have been worth for all turns, though it was asked for some of them."""

from collections.abc import Sequence

import pytest

from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.statistics.confidence import MomentSums, estimate_mean
from opencrab.domain.statistics.off_policy import (
    MOST_WEIGHT,
    WeightedTurns,
    off_policy_estimate,
    propensity_weighted_sums,
)
from opencrab.domain.statistics.seeded_random import SeededRandom

Days = Sequence[tuple[float, float]]


def lived(days: Days, seed: str, turns: int = 60) -> tuple[WeightedTurns, MomentSums]:
    """What a model's turns tell: each day it is drawn so likely, and its turns are so good."""
    chance, known, plain = SeededRandom(seed), WeightedTurns(), MomentSums()
    for likely, good in days:
        drawn = [float(chance.even() < good) for _ in range(turns) if chance.even() < likely]
        known += propensity_weighted_sums([(likely, worth) for worth in drawn], ())
        plain += MomentSums(n=len(drawn), total=sum(drawn), squares=sum(drawn))
    return known, plain


def test_equally_likely_turns_are_as_many_as_they_are() -> None:
    found = off_policy_estimate(
        propensity_weighted_sums([(0.25, 1.0)] * 30 + [(0.25, 0.0)] * 10, ())
    )
    assert found == estimate_mean(MomentSums(n=40, total=30, squares=30))


def test_what_was_drawn_rarely_stands_for_more_and_proves_less() -> None:
    found = off_policy_estimate(propensity_weighted_sums([(0.1, 1.0), *[(0.8, 0.0)] * 8], ()))
    assert found is not None
    assert found.mean == pytest.approx(10 / 20)
    assert found.n == 3
    assert found.high - found.low > 0.9


@pytest.mark.parametrize(
    "known",
    [
        WeightedTurns(),
        propensity_weighted_sums([(0.5, None)] * 9, ()),
        propensity_weighted_sums([(0.5, None)], [0.5] * 3),
    ],
)
def test_where_no_drawn_turn_tells_nothing_is_known(known: WeightedTurns) -> None:
    assert off_policy_estimate(known) is None


def test_a_turn_without_an_answer_is_worth_nothing_as_often_as_answers_are_judged() -> None:
    answered = [(0.2, 1.0)] * 20 + [(0.2, None)] * 20
    found = off_policy_estimate(propensity_weighted_sums(answered, [0.2] * 20))
    plain = ModelEvidence(quality=MomentSums(n=20, total=20, squares=20), turns=60, failed=20)
    assert found == estimate_mean(plain.value_sums)
    silent = off_policy_estimate(propensity_weighted_sums([], [0.2] * 20))
    assert silent is not None
    assert (silent.mean, silent.low) == (0, 0)


def test_one_rare_turn_does_not_stand_for_as_many_as_it_weighs() -> None:
    found = off_policy_estimate(propensity_weighted_sums([*[(1.0, 0.0)] * 900, (0.0, 1.0)], ()))
    assert found is not None
    assert found.mean == pytest.approx(MOST_WEIGHT / 1_000)
    assert found.n < 15
    assert found.high > 0.4


def test_days_add_up() -> None:
    first, second = ((0.1, 1.0), (0.5, None)), ((0.9, 0.25),)
    both = propensity_weighted_sums([*first, *second], [0.1, 0.3])
    assert propensity_weighted_sums(first, [0.1]) + propensity_weighted_sums(second, [0.3]) == both


@pytest.mark.parametrize(
    "days",
    [[(0.9, 0.2)] * 10 + [(0.1, 0.8)] * 10, [(0.1, 0.2)] * 10 + [(0.9, 0.8)] * 10],
    ids=["asked when work is hard", "asked when work is easy"],
)
def test_when_a_model_was_asked_does_not_move_what_it_is_held_to_be_worth(days: Days) -> None:
    truth, runs = 0.5, 40
    held = misled = 0
    for run in range(runs):
        known, plain = lived(days, f"run-{run}")
        found, naive = off_policy_estimate(known), estimate_mean(plain)
        assert found is not None
        assert naive is not None
        held += found.low <= truth <= found.high
        misled += not naive.low <= truth <= naive.high
    assert held >= 0.95 * runs
    assert misled == runs
