"""On made-up worlds our way to learn finds the truth, keeps to the budget, and regrets less."""

from collections.abc import Sequence

import pytest

from opencrab.domain.errors import Invalid
from opencrab.engine.simulation.learning.policies import SimulatedDay
from opencrab.engine.simulation.learning.product import TRIALS, ProductPolicy
from opencrab.engine.simulation.learning.scores import (
    LearningTrial,
    MeasuredInterval,
    SkillFate,
    combine_simulation_results,
    simulated_interval_coverage,
)
from opencrab.engine.simulation.learning.trial import (
    optimal_mix_in_simulation,
    run_simulated_learning_trial,
    simulate_model_quality_drop,
)
from opencrab.engine.simulation.learning.world import (
    simulated_judgement_rates,
    simulated_learning_environment,
)
from tests.soak import count

SEEDS = range(1, 1 + count("worlds in which an agent learns"))


@pytest.fixture(scope="module")
def honest() -> Sequence[LearningTrial]:
    return [run_simulated_learning_trial(seed, nights=45) for seed in SEEDS]


@pytest.fixture(scope="module")
def lying() -> Sequence[LearningTrial]:
    return [run_simulated_learning_trial(SEEDS[0], nights=20, lying=True)]


def test_intervals_hold_the_truth(honest: Sequence[LearningTrial]) -> None:
    found = combine_simulation_results(honest)
    # Credible intervals of 95 % of a few dozen effects: three standard deviations less.
    for each, least in ((found.effects_at_decision, 0.8), (found.effects, 0.85)):
        assert each.share is not None
        assert each.share >= least
    assert (found.qualities.share or 0.0) >= 0.95
    # A dear model may never be asked for one type of task.
    assert all(len(each.qualities) >= 13 for each in honest)


def test_what_helps_is_promoted_and_what_harms_goes_soon(honest: Sequence[LearningTrial]) -> None:
    skills = combine_simulation_results(honest).skills
    assert skills["harmful"].promoted == 0
    assert skills["harmful"].retired >= 0.8 * skills["harmful"].skills
    assert skills["helpful"].promoted >= 0.5 * skills["helpful"].skills
    assert skills["helpful"].promoted > 4 * skills["idle"].promoted


def test_no_day_ever_costs_more_than_its_budget(
    honest: Sequence[LearningTrial], lying: Sequence[LearningTrial]
) -> None:
    for each in (*honest, *lying):
        assert each.outcomes["ours"].within_budget
        assert each.outcomes["ours"].unanswered == 0
        assert 0 < each.outcomes["ours"].most_spent_in_a_day <= each.day_micro_usd


@pytest.mark.parametrize("worlds", ["honest", "lying"])
def test_regret_is_below_greed_and_below_self_praise(
    worlds: str, request: pytest.FixtureRequest
) -> None:
    regret = combine_simulation_results(request.getfixturevalue(worlds)).late
    assert regret["ours"] < regret["greedy"]
    assert regret["ours"] < regret["self_grade"]


def test_changes_are_undone_whole(
    honest: Sequence[LearningTrial],
) -> None:
    found = combine_simulation_results(honest)
    assert found.undone == len(SEEDS)
    assert found.changes > 3


def test_a_model_that_gets_worse_loses_its_place() -> None:
    for seed in (1, 3):
        world = simulated_learning_environment(seed, turns=100)
        found = simulate_model_quality_drop(world, nights=26)
        assert found.night > 0
        assert 0 < (found.left_after or 0) <= 10


def test_the_same_seed_is_the_same_world_and_another_seed_another() -> None:
    first, again, other = (
        run_simulated_learning_trial(seed, nights=2, turns=20) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
    assert LearningTrial.model_validate_json(first.model_dump_json()) == first


def test_a_world_is_as_it_was_ordered() -> None:
    found = simulated_learning_environment(9, turns=100)
    kinds = [skill.kind for skill in found.skills]
    assert [kinds.count(kind) for kind in ("helpful", "harmful", "idle")] == [5, 5, 10]
    assert len(found.models) == 5
    best = optimal_mix_in_simulation(found)
    costs = {model.name: model.cost for model in found.models}
    mean = sum(
        share * weight * costs[name]
        for share, mix in zip(found.shares, best.values(), strict=True)
        for name, weight in mix.items()
    )
    assert found.turns * mean <= found.day_micro_usd * 1.001
    assert found.day_micro_usd < found.turns * max(costs.values())


def test_what_can_be_seen_rises_with_quality_and_stays_a_little_below_it() -> None:
    seen = [simulated_judgement_rates(step / 10, 0.35)[1] for step in range(1, 10)]
    assert seen == sorted(seen)
    assert all(0 < step / 10 - value < 0.15 for step, value in enumerate(seen, start=1))


def test_only_intervals_are_counted() -> None:
    known = MeasuredInterval(turns=9, points=5, low=0, high=9, truth=3)
    found = simulated_interval_coverage(
        [known, known.replaced(truth=10.0), known.replaced(low=None)]
    )
    assert (found.held, found.of, found.share) == (1, 2, 0.5)
    assert simulated_interval_coverage([]).share is None
    unseen = SkillFate(skill="s", kind="idle", verdict="waiting", turns=0, true_quality=0)
    assert unseen.holds is None


@pytest.mark.parametrize(("nights", "turns"), [(0, 100), (1_001, 100), (1, 0), (1, 10_001)])
def test_a_number_out_of_range_is_refused(nights: int, turns: int) -> None:
    with pytest.raises(Invalid, match=r"--nights|--turns"):
        run_simulated_learning_trial(1, nights=nights, turns=turns)


def test_a_trial_that_no_turn_tells_of_makes_room_for_those_that_wait() -> None:
    trials = TRIALS.replaced(candidates=12)
    rule = ProductPolicy(simulated_learning_environment(1, turns=1), trials)
    before = {skill.name for skill in rule.mind.skills}
    for day in range(33):
        rule.learn_from_day(day, SimulatedDay())
    after = {skill.name for skill in rule.mind.skills}
    assert len(before) == trials.candidates
    assert after >= set(rule.skills_kept) - before
    assert all(rule.skills_kept[name].waits for name in set(rule.skills_kept) - after)
