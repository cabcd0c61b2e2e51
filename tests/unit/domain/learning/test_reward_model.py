"""The reward model: one posterior over tasks, models and skills, the same by any bookkeeping."""

from math import sqrt
from random import Random

import pytest

from opencrab.domain.learning.reward_model import (
    ACTED,
    DISCOUNT,
    FEATURES,
    NO_REWARDS,
    RewardBelief,
    RewardPosterior,
    RewardRow,
    RewardSums,
    combine_reward_sums,
    reward_sums_of_rows,
    reward_sums_without,
    trim_reward_sums,
)

MODELS = {"v:small": 0.5, "v:big": 0.7}
TASK = "conversation/code"


def drawn(seed: str) -> Random:
    """Chance that is the same each time."""
    return Random(seed)  # noqa: S311 - a made-up world


def cell(model: str, *skills: str, task: str = TASK, held: str = "") -> dict[str, float]:
    """The terms of a turn with these skills; `held` fitted and was withheld."""
    terms = [f"model/{model}", f"task/{task}", f"cell/{task}/{model}"]
    for skill in skills:
        terms += [f"skill/{skill}", f"fit/{skill}/{task.rpartition('/')[2]}", f"topic/{skill}"]
    return dict.fromkeys([*terms, *([f"topic/{held}"] if held else [])], 1.0)


def lived(chance: Random, turns: int, effects: dict[str, float] | None = None) -> list[RewardRow]:
    """Turns with both models and one skill, which is withheld from half of them."""
    rows = []
    for _ in range(turns):
        model, task = chance.choice(sorted(MODELS)), chance.choice(("code", "chat"))
        given = chance.random() < 0.5
        good = MODELS[model] + (effects or {}).get(task, 0.0) * given
        subject = f"conversation/{task}"
        terms = cell(model, *(["calm"] if given else []), task=subject, held="calm")
        rows.append(RewardRow(terms, float(chance.random() < good), chance.choice((0.5, 0.8, 1.0))))
    return rows


def test_without_turns_the_prior_holds_and_a_dearer_model_is_believed_better() -> None:
    nothing = RewardPosterior(NO_REWARDS, {"v:small": 1.0, "v:big": 100.0, "v:free": 0.0})
    small, big, free = (nothing.of_model(TASK, name) for name in ("v:small", "v:big", "v:free"))
    assert (small.mean, big.mean, free.mean) == pytest.approx((0.5, 0.6, 0.55))
    assert small.sd == pytest.approx(sqrt(0.12**2 + 0.07**2 + 0.1**2))
    assert nothing.of_skill("calm", {"code": 1.0}).mean == pytest.approx(0.03)
    assert nothing.skill_task_weights("calm") == {}


def test_many_turns_show_the_truth_of_models_and_of_a_skill_for_each_type_of_task() -> None:
    rows = lived(drawn("1"), 4_000, {"code": 0.2})
    found = RewardPosterior(reward_sums_of_rows(rows))
    for model, quality in MODELS.items():
        assert found.of_model(TASK, model).mean == pytest.approx(quality, abs=0.05)
    code, chat = (found.of_skill("calm", {task: 1.0}) for task in ("code", "chat"))
    assert code.limits[0] > 0.1 > chat.limits[0]
    assert code.mean == pytest.approx(0.2, abs=0.06)
    assert abs(chat.mean) < 0.06
    weights = found.skill_task_weights("calm")
    assert sum(weights.values()) == pytest.approx(sum(row.weight for row in rows))


def test_one_number_is_the_textbook_posterior() -> None:
    rows = [RewardRow({ACTED: 1.0}, 1.0, 1.0)] * 8
    belief = RewardPosterior(reward_sums_of_rows(rows)).belief({ACTED: 1.0})
    precision = 0.3**-2 + 8 / 0.4**2
    assert belief.mean == pytest.approx(8 / 0.4**2 / precision)
    assert belief.sd == pytest.approx(precision**-0.5)


def test_days_add_up_to_what_all_turns_together_show_and_old_ones_count_less() -> None:
    rows = lived(drawn("2"), 300, {"code": 0.2})
    whole = reward_sums_of_rows(rows)
    parts = [(1.0, reward_sums_of_rows(rows[:100])), (1.0, reward_sums_of_rows(rows[100:]))]
    added = combine_reward_sums(parts)
    assert added.names == whole.names
    assert added.values == pytest.approx(whole.values)
    for row, other in zip(added.products, whole.products, strict=True):
        assert row == pytest.approx(other)
    old = combine_reward_sums([(DISCOUNT**100, whole)])
    assert old.weight("skill/calm") == pytest.approx(whole.weight("skill/calm") * DISCOUNT**100)
    assert combine_reward_sums([]) == NO_REWARDS


def test_what_a_dropped_skill_explained_is_not_put_on_others() -> None:
    """Two skills that were mostly given together: the one that harmed is forgotten."""
    chance, rows = drawn("3"), list[RewardRow]()
    for _ in range(2_000):
        both = [name for name in ("good", "bad") if chance.random() < 0.7]
        quality = 0.5 + 0.2 * ("good" in both) - 0.3 * ("bad" in both)
        rows.append(RewardRow(cell("v:big", *both), float(chance.random() < quality), 1.0))
    sums = reward_sums_of_rows(rows)
    before = RewardPosterior(sums).of_skill("good", {"code": 1.0})
    gone = [name for name in sums.names if name.split("/")[1] == "bad"]
    left = reward_sums_without(sums, gone)
    after = RewardPosterior(left).of_skill("good", {"code": 1.0})
    assert set(left.names) == set(sums.names) - set(gone)
    assert after == pytest.approx(before)
    assert reward_sums_without(left, ["skill/unknown"]) == left


def test_stored_sums_have_a_limit_and_read_the_same_again() -> None:
    rows = [RewardRow(cell(f"v:m{n}"), 0.5, 1.0) for n in range(FEATURES) for _ in range(1 + n % 3)]
    kept = trim_reward_sums(reward_sums_of_rows(rows))
    assert len(kept.names) == FEATURES
    assert f"task/{TASK}" in kept.names
    assert RewardSums.from_stored(kept.to_stored()) == kept


def test_a_belief_tells_its_interval_and_what_a_wrong_choice_would_lose() -> None:
    even = RewardBelief(0.0, 0.1)
    assert even.limits == pytest.approx((-0.196, 0.196), abs=1e-4)
    assert even.positive == 0.5
    assert even.loss == pytest.approx(0.1 * 0.39894, abs=1e-5)
    assert RewardBelief(0.5, 0.1).loss < 1e-6
    assert RewardBelief(-0.5, 0.1).loss == pytest.approx(0.5, abs=1e-6)


def test_intervals_hold_in_about_95_of_100_worlds() -> None:
    """Worlds drawn from the prior itself; five standard deviations of such a count."""
    chance, held, worlds = drawn("4"), 0, 400
    for _ in range(worlds):
        truth = chance.gauss(0.03, 0.12)
        rows = []
        for _ in range(60):
            given = chance.random() < 0.5
            worth = truth * given + chance.gauss(0, 0.4)
            rows.append(RewardRow({"skill/s": 1.0} if given else {"topic/s": 0.0}, worth, 1.0))
        low, high = RewardPosterior(reward_sums_of_rows(rows)).belief({"skill/s": 1.0}).limits
        held += low <= truth <= high
    assert abs(held / worlds - 0.95) < 5 * sqrt(0.95 * 0.05 / worlds)
