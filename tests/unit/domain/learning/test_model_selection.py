"""What models are mixed from: only those that may be chosen, at the price of a whole turn."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.aggregate import AggregatedEvidence
from opencrab.domain.learning.bandit import BanditMix
from opencrab.domain.learning.change import Adjustment, AdjustmentState, describe_mix
from opencrab.domain.learning.evidence import ClosedEvidence, Evidence
from opencrab.domain.learning.model_selection import (
    CandidateModel,
    ExpectedGain,
    SelectionInput,
    adjustments_ended_by,
    bandit_budget_left,
    bandit_current_alias,
    day_budget_of_bandit,
    expected_mix_gain,
    learn_model_choices,
    learnable_choices,
    learned_quality_gain,
    learned_savings,
    mix_adjustment,
    mix_of_bandit,
    open_bandit_choices,
)
from opencrab.domain.learning.reward_model import RewardSums
from opencrab.domain.learning.reward_rows import reward_sums_of_evidence
from opencrab.domain.models.optimization import Aim, OptimizationGoal
from opencrab.domain.models.routing import LlmConfig, Routing, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.money.budget import Price
from opencrab.domain.statistics.confidence import Estimate
from tests.unit.domain.measured import GPT, LOCAL, MINI, NOW, ago, calls, evidence, of

TASK = "conversation/conversation"
PRICE = Price(input_per_million=1_000_000, output_per_million=10_000_000)
ROUTING = Routing(default="smart", aliases={"smart": GPT, "fast": MINI, "home": LOCAL})
MIXED = BanditMix(
    weights={"fast": 1.0},
    best=("fast",),
    quality=Estimate(n=50, mean=0.7, low=0.6, high=0.8),
    cost_micro_usd=1_000.0,
    latency_ms=300.0,
)


@dataclass(frozen=True)
class Told(AggregatedEvidence):
    """Evidence of all days that is not the sum of that of the open ones."""

    whole: Evidence = field(default_factory=Evidence)

    @property
    def evidence(self) -> Evidence:
        return self.whole

    @property
    def reward_sums(self) -> RewardSums:
        return reward_sums_of_evidence(self.whole)


def told(whole: Evidence | None = None, days: int = 2) -> Told:
    """Gpt had 10 turns on each of the days, and 300 in all."""
    whole = whole or evidence(gpt=of(300, 0.8, cost=4_000, latency=900))
    other = Evidence(models={"embedding/routine/x:y": of(10, 0.5)})
    found = {ago(24 * day).date(): evidence(gpt=of(10, 0.8)) for day in range(days)}
    if found:
        found[NOW.date()] += other
    return Told(NOW.date(), ClosedEvidence(), found, whole=whole)


def ground(**changes: Any) -> SelectionInput:
    """Gpt had 20 turns in two days, of two calls each; 10 turns were for pictures of text."""
    fields: dict[str, Any] = {
        "agent": Agent(id="mika", name="Mika", created_at=NOW, updated_at=NOW),
        "mind": AgentState(),
        "routing": ROUTING,
        "known": told(),
        "tallies": (
            *calls(GPT, 20, at=ago(24)),
            *calls(GPT, 20),
            *calls(MINI, 10, cost=500, purpose=Use.CREATIVE),
        ),
        "choices": {
            "smart": CandidateModel(name=GPT, price=PRICE),
            "fast": CandidateModel(name=MINI, price=PRICE),
        },
        "day_micro_usd": 100_000,
    }
    return SelectionInput(**fields | changes)


def test_the_arms_are_the_models_that_may_be_chosen_each_at_the_price_of_a_turn() -> None:
    found = learnable_choices(ground())
    assert list(found) == [TASK]
    assert found[TASK].turns_a_day == 10
    assert found[TASK].current == "smart"
    smart, fast = found[TASK].arms
    assert (smart.model, smart.name, smart.evidence.turns) == ("smart", GPT, 300)
    assert fast.evidence.turns == 0
    # Two calls a turn, each of 100 tokens in and 10 out.
    assert fast.price == 2 * (100 + 10 * 10)


def test_where_no_call_tells_nobody_knows_what_a_turn_costs() -> None:
    assert [arm.price for arm in learnable_choices(ground(tallies=()))[TASK].arms] == [None, None]
    assert learnable_choices(ground(known=told(days=0))) == {}
    assert learnable_choices(ground(choices={}))[TASK].arms == ()


def test_what_is_known_of_a_model_elsewhere_is_believed_here_too() -> None:
    good, bad = (
        ground(known=told(Evidence(models={f"thinking/design/{GPT}": of(200, share)})))
        for share in (0.9, 0.2)
    )
    beliefs = [
        {arm.model: arm.belief for arm in learnable_choices(each)[TASK].arms}
        for each in (good, bad)
    ]
    assert beliefs[0]["smart"].mean > beliefs[1]["smart"].mean + 0.3
    assert beliefs[0]["smart"].sd < beliefs[0]["fast"].sd


def test_other_work_is_paid_for_first() -> None:
    assert bandit_budget_left(ground(), [TASK]) == 100_000 - 10 * 500 // 2
    assert bandit_budget_left(ground(day_micro_usd=1_000), [TASK]) == 0


def test_a_mix_costs_no_more_than_other_work_leaves() -> None:
    known = evidence(gpt=of(300, 0.9, cost=1_000), mini=of(300, 0.5, cost=10))
    rich = ground(known=told(known), day_micro_usd=20_000)
    aim = Aim(goal=OptimizationGoal.MAXIMIZE_QUALITY, min_quality=0.0, explore=0.1)
    poor = replace(rich, tallies=(*rich.tallies, *calls(MINI, 30, purpose=Use.CREATIVE)))
    asked = [learn_model_choices(each, aim, NOW, seed="x") for each in (rich, poor)]
    assert asked[0].found.get(TASK) is None
    assert asked[1].found[TASK].weights["fast"] > 0.4


def test_what_is_asked_now_is_the_mix_or_what_routing_names() -> None:
    held = Mix(purpose=Use.CONVERSATION, task_type="conversation", weights={"fast": 0.8, "a": 0.2})
    assert bandit_current_alias(ground(mind=AgentState(mixes=(held,))), TASK) == "fast"
    own = Agent(
        id="m",
        name="M",
        llm=LlmConfig(models={Use.CONVERSATION: LOCAL}),
        created_at=NOW,
        updated_at=NOW,
    )
    assert bandit_current_alias(ground(agent=own), TASK) == ""
    assert open_bandit_choices(ground(agent=own)) == (TASK,)
    assert learnable_choices(ground(agent=own)) == {}


def test_a_gain_is_told_against_the_present_model_and_unknown_where_nothing_is_known() -> None:
    found, now = expected_mix_gain(ground(), TASK, MIXED), learnable_choices(ground())[TASK].arms[0]
    # What is believed of 300 turns that came to 80 points, drawn a little to what models come to.
    assert found.quality == pytest.approx(0.7 - now.belief.mean)
    assert 0.79 < now.belief.mean < 0.8
    assert found.latency_ms == -600.0
    assert describe_mix(mix_of_bandit(TASK, MIXED)) == {"weights": {"fast": 1.0}}
    blank = expected_mix_gain(ground(known=told(Evidence())), TASK, MIXED)
    assert (blank.quality, blank.cost_micro_usd, blank.latency_ms) == (None, None, None)
    assert learned_savings([found, blank]) == pytest.approx(-2_000.0)
    assert learned_quality_gain([found, blank]) == pytest.approx(found.quality)
    assert (learned_savings([blank]), learned_quality_gain([blank])) == (None, None)
    assert learned_savings([ExpectedGain(subject=TASK, turns_a_day=3, cost_micro_usd=0.0)]) == 0


def test_a_saving_is_told_at_the_prices_of_today_not_at_what_turns_once_cost() -> None:
    """All turns of the present model cost 4,000 in the mean, those of the open days 1,000."""
    now = learnable_choices(ground())[TASK].arms[0]
    assert now.evidence.cost.mean == 4_000
    # 20 turns of 1,000, and today's price of a turn, 400, with the weight of ten.
    assert now.cost == pytest.approx((20 * 1_000 + 10 * 400) / 30)
    found = expected_mix_gain(ground(), TASK, MIXED)
    assert found.cost_micro_usd == pytest.approx(1_000 - 800)
    unpriced = expected_mix_gain(ground(choices={}), TASK, MIXED)
    assert unpriced.cost_micro_usd == 1_000 - 4_000
    assert unpriced.quality == pytest.approx(found.quality, abs=0.01)


def test_what_follows_is_told_for_each_kind_of_work_but_what_is_left_out() -> None:
    known = evidence(gpt=of(300, 0.8, cost=4_000), mini=of(300, 0.9, cost=500))
    rich = ground(known=told(known), day_micro_usd=10**9)
    aim = Aim(goal=OptimizationGoal.MAXIMIZE_QUALITY)
    follows = learn_model_choices(rich, aim, NOW, seed="x")
    assert {name: each.weights for name, each in follows.found.items()} == {TASK: {"fast": 1.0}}
    skipped = learn_model_choices(rich, aim, NOW, seed="x", only=())
    assert (skipped.found, skipped.still) == ({}, {})
    pinned = replace(rich, mind=AgentState(pinned=(f"models:{TASK}",)))
    assert learn_model_choices(pinned, aim, NOW, seed="x").still == {TASK: "pinned"}


def test_a_day_costs_the_least_of_what_anybody_allows() -> None:
    agent = Agent(id="m", name="M", created_at=NOW, updated_at=NOW)
    owned = agent.replaced(llm=LlmConfig(aim=Aim(day_micro_usd=50)))
    found = [
        day_budget_of_bandit(agent, 100),
        day_budget_of_bandit(owned, 100),
        day_budget_of_bandit(owned, 20),
    ]
    assert [*found, day_budget_of_bandit(owned, 100, 7), day_budget_of_bandit(agent, 9, 70)] == [
        100,
        50,
        20,
        7,
        9,
    ]


def test_a_change_ends_proposals_and_what_it_takes_the_place_of() -> None:
    def made(by: str, state: AdjustmentState) -> Adjustment:
        return mix_adjustment(ground(), TASK, MIXED, NOW, by=by, state=state)

    states = AdjustmentState
    earlier = tuple(made(state.value, state) for state in states)
    known = ground(recent=earlier)
    applied, proposed = made("x", states.APPLIED), made("x", states.PROPOSED)
    assert {each.state for each in adjustments_ended_by(known, applied)} == {
        states.APPLIED,
        states.PROPOSED,
    }
    assert {each.state for each in adjustments_ended_by(known, proposed)} == {states.PROPOSED}


def test_a_turn_is_expected_to_cost_what_it_did_of_late_and_what_todays_prices_say() -> None:
    known = ground(known=told(evidence(gpt=of(300, 0.8, cost=90), mini=of(300, 0.8, cost=90))))
    late, priced = (arm.price or 0.0 for arm in learnable_choices(known)[TASK].arms)
    cost = known.days[0].models[f"{TASK}/{GPT}"].cost.mean or 0.0
    assert priced == 400
    assert late == pytest.approx((20 * cost + 10 * priced) / 30)


def test_a_model_that_is_known_to_be_bad_does_not_keep_a_small_share_for_trying() -> None:
    known = evidence(gpt=of(300, 0.9, cost=10), mini=of(300, 0.1, cost=10))
    held = Mix(
        purpose=Use.CONVERSATION, task_type="conversation", weights={"smart": 0.9, "fast": 0.1}
    )
    rich = ground(known=told(known), mind=AgentState(mixes=(held,)), day_micro_usd=10**9)
    follows = learn_model_choices(
        rich, Aim(goal=OptimizationGoal.MAXIMIZE_QUALITY, explore=0.1), NOW, seed="x"
    )
    assert "fast" not in follows.found[TASK].weights
