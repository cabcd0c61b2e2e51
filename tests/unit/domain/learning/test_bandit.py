"""Models are asked as often as they are likely the best choice that the day can pay."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.learning.bandit import (
    LEAST_JUDGED,
    LEAST_TRIED,
    BanditArm,
    BanditMix,
    BanditSubject,
    bandit_mixes,
)
from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.learning.reward_model import RewardBelief
from opencrab.domain.models.optimization import Aim, OptimizationGoal
from opencrab.domain.statistics.confidence import MomentSums


def ones(good: float, n: int) -> MomentSums:
    """So many zeros and ones with this mean."""
    return MomentSums(n=n, total=good * n, squares=good * n)


def arm(
    name: str, good: float, cost: float | None, *, n: int = 300, ms: float = 1_000, failed: int = 0
) -> BanditArm:
    """A model of which so many turns are known."""
    known = n if cost is not None else 0
    evidence = ModelEvidence(
        quality=ones(good, n),
        cost=MomentSums(n=known, total=(cost or 0.0) * known),
        latency=MomentSums(n=n, total=ms * n),
        turns=n + failed,
        failed=failed,
    )
    counted = evidence.value_sums
    precision = 0.14**-2 + counted.n / 0.4**2
    mean = (0.55 * 0.14**-2 + counted.total / 0.4**2) / precision
    belief = RewardBelief(mean, precision**-0.5)
    return BanditArm(model=name, name=f"v:{name}", evidence=evidence, price=cost, belief=belief)


SMALL, SMART, BEST = arm("small", 0.6, 100), arm("smart", 0.8, 1_000), arm("best", 0.9, 10_000)
ALL = (SMALL, SMART, BEST)
RICH = 10**9


def of(
    *arms: BanditArm, money: int = RICH, current: str = "", **aim: Any
) -> tuple[BanditMix | None, str]:
    """The mix of such models for 100 turns a day."""
    said = Aim(**{"min_quality": 0.5, "goal": OptimizationGoal.MAXIMIZE_QUALITY, **aim})
    subject = BanditSubject(arms=arms, turns_a_day=100, current=current)
    return bandit_mixes({"": subject}, said, day_micro_usd=money, seed="x")[""]


def weights(found: tuple[BanditMix | None, str]) -> dict[str, float]:
    """What came of it."""
    assert found[0] is not None, found
    return found[0].weights


@pytest.mark.parametrize(
    ("aim", "best"),
    [
        ({"goal": OptimizationGoal.MAXIMIZE_QUALITY}, "best"),
        ({"goal": OptimizationGoal.MINIMIZE_COST}, "small"),
        ({"goal": OptimizationGoal.MINIMIZE_COST, "min_quality": 0.7}, "smart"),
        ({"goal": OptimizationGoal.BALANCE}, "smart"),
        ({"goal": OptimizationGoal.MINIMIZE_COST, "min_quality": 0.99}, "best"),
    ],
)
def test_each_goal_has_its_best_model(aim: dict[str, Any], best: str) -> None:
    assert weights(of(*ALL, **aim)) == {best: 1.0}


def test_the_quickest_that_is_good_enough_is_asked_where_time_counts() -> None:
    arms = (
        arm("slow", 0.9, 100, ms=9_000),
        arm("quick", 0.8, 100, ms=100),
        arm("bad", 0.1, 1, ms=9),
    )
    found, _ = of(*arms, goal=OptimizationGoal.MINIMIZE_LATENCY)
    assert found is not None
    assert (found.weights, found.latency_ms) == ({"quick": 1.0}, 100)


def test_money_is_split_between_two_models_where_the_better_one_is_too_dear_for_all() -> None:
    found, word = of(*ALL, money=500_000, explore=0.1)
    assert found is not None
    assert word == "learned"
    assert set(found.best) == {"smart", "best"}
    assert 100 * found.cost_micro_usd <= 500_000
    assert found.weights["best"] == pytest.approx(0.4, abs=0.05)
    alone, _ = of(*ALL, money=500_000)
    assert alone is not None
    assert alone.weights == {"smart": 1.0}
    assert weights(of(*ALL, money=500_000, current="best")) == {"smart": 1.0}


def heavy(known: BanditArm) -> BanditArm:
    """The same model, whose turns cost twice the mean or nothing."""
    cost = known.evidence.cost
    squares = 2 * cost.total * cost.total / cost.n
    return known.replaced(evidence=known.evidence.replaced(cost=cost.replaced(squares=squares)))


def test_room_is_left_for_a_dear_day_where_turns_cost_very_different_amounts() -> None:
    def planned(*arms: BanditArm, on_average: bool = False) -> float:
        aim = Aim(goal=OptimizationGoal.MAXIMIZE_QUALITY, min_quality=0.5, explore=0.1)
        found, _ = bandit_mixes(
            {"": BanditSubject(arms=arms, turns_a_day=100)},
            aim,
            day_micro_usd=500_000,
            seed="x",
            on_average=on_average,
        )[""]
        assert found is not None
        return 100 * found.cost_micro_usd / 500_000

    assert planned(SMART, BEST) == pytest.approx(0.97, abs=0.005)
    # A turn's cost has a deviation as large as its mean, so 100 turns have a tenth of theirs.
    assert 0.85 < planned(heavy(SMART), heavy(BEST)) < 0.91
    assert planned(heavy(SMART), heavy(BEST), on_average=True) == pytest.approx(1, abs=0.005)


def test_one_day_pays_for_all_types_of_task() -> None:
    little = arm("best", 0.81, 10_000)
    subjects = {
        "chat": BanditSubject(arms=(SMART, little), turns_a_day=50),
        "code": BanditSubject(arms=(SMALL, BEST), turns_a_day=50),
    }
    aim = Aim(goal=OptimizationGoal.MAXIMIZE_QUALITY, min_quality=0.5)
    found = bandit_mixes(subjects, aim, day_micro_usd=600_000, seed="x")
    assert weights(found["chat"]) == {"smart": 1.0}
    assert weights(found["code"]) == {"best": 1.0}


def test_even_the_cheapest_may_be_too_dear_and_then_it_is_the_cheapest() -> None:
    found = of(*ALL, money=5, min_quality=0.85, explore=0.2)
    assert found[1] == "over_budget"
    assert weights(found) == {"small": 1.0}


@pytest.mark.parametrize(
    ("arms", "aim", "word"),
    [
        ((), {}, "no_models"),
        ((SMART,), {}, "one_model"),
        ((SMART, arm("dark", 0.9, None)), {}, "no_price"),
        (
            (arm("a", 0.9, 1, n=LEAST_TRIED - 1), arm("b", 0.9, 1, n=0)),
            {"explore": 0.5},
            "too_little_data",
        ),
        ((SMART, arm("new", 1.0, 1, n=5)), {}, "too_little_data"),
        ((arm("a", 0.7, 9, n=40), arm("b", 0.72, 9, n=40)), {}, "not_sure"),
    ],
)
def test_without_enough_data_nothing_changes_and_the_word_says_why(
    arms: tuple[BanditArm, ...], aim: dict[str, Any], word: str
) -> None:
    assert of(*arms, current="a", **aim) == (None, word)


def test_a_model_that_costs_nothing_is_a_model_like_others() -> None:
    assert weights(of(arm("free", 0.7, 0), SMART, goal=OptimizationGoal.BALANCE)) == {"free": 1.0}
    assert weights(of(arm("free", 0.7, 0), arm("gift", 0.9, 0), money=0)) == {"gift": 1.0}


def test_a_model_that_has_no_answer_half_the_time_is_half_as_good() -> None:
    broken = arm("broken", 0.95, 100, failed=300)
    assert weights(of(broken, SMART)) == {"smart": 1.0}
    assert weights(of(*[broken] * 2, current="broken"))["broken"] == 1.0


arms_given = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 10_000), st.integers(0, 400)), min_size=2, max_size=5
)


@given(
    arms_given,
    st.sampled_from(OptimizationGoal),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 10**6),
)
def test_the_day_is_kept_and_no_more_is_tried_than_the_owner_allows(
    known: list[tuple[float, int, int]], goal: OptimizationGoal, explore: float, money: int
) -> None:
    arms = [arm(f"m{place}", good, cost, n=n) for place, (good, cost, n) in enumerate(known)]
    found, word = of(*arms, goal=goal, explore=explore, money=money)
    if found is None:
        return
    assert sum(found.weights.values()) == pytest.approx(1)
    assert set(found.weights) <= {each.model for each in arms}
    others = sum(share for name, share in found.weights.items() if name not in found.best)
    assert others <= explore + 1e-3
    proven = {
        each.model for each in arms if each.quality.n >= (LEAST_TRIED if explore else LEAST_JUDGED)
    }
    assert set(found.best) <= proven
    assert sum(found.weights.get(name, 0) for name in proven) >= 1 - explore - 1e-3
    assert 1 <= len(found.best) <= 2
    if word == "learned":
        assert 100 * found.cost_micro_usd <= money * 1.001
    assert 0 <= found.quality.low <= found.quality.mean <= found.quality.high <= 1


def test_a_model_that_nobody_knows_is_tried_out_and_no_more() -> None:
    poor, unknown = arm("poor", 0.42, 100, n=24), arm("unknown", 0.0, 100, n=0)
    found, _ = of(poor, unknown, explore=0.3, min_quality=0.7, current="poor")
    assert found is not None
    assert found.weights == {"poor": 0.7, "unknown": 0.3}
    assert of(poor.replaced(price=None, evidence=ModelEvidence()), unknown, explore=0.3)[0] is None


def test_the_same_seed_draws_the_same_mix() -> None:
    unsure = (arm("a", 0.7, 10, n=30), arm("b", 0.72, 10, n=30), arm("c", 0.6, 10, n=0))
    assert of(*unsure, explore=0.3) == of(*unsure, explore=0.3)
    assert 0.25 < 1 - max(weights(of(*unsure, explore=0.3)).values()) <= 0.3001


def test_what_the_budget_cannot_pay_whole_is_explored_in_part() -> None:
    """A dear model nobody tried: a tenth of its share is better than never to learn of it."""
    known, dear = arm("known", 0.55, 1_000), arm("dear", 0.5, 20_000, n=0)
    rich, poor = (
        weights(of(known, dear, money=money, explore=0.2, current="known"))
        for money in (RICH, 250_000)
    )
    assert rich["dear"] == pytest.approx(0.2)
    assert 0 < poor["dear"] < 0.1
    assert 100 * (poor["dear"] * 20_000 + poor["known"] * 1_000) <= 250_000
    assert weights(of(known, dear, money=101_000, explore=0.2, current="known")) == {"known": 1.0}
