"""Bandit: traffic splits of models by what is known of them, within a day's budget.

Constrained Thompson sampling (Thompson 1933; with a budget as in Agrawal and Devanur, "Bandits with
concave rewards and convex knapsacks", 2014): models are asked as often as they are the best choice
in draws from what is known, at a price on money that keeps the day within its budget.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from pydantic import Field

from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.learning.reward_model import RewardBelief
from opencrab.domain.models.optimization import Aim, OptimizationGoal
from opencrab.domain.statistics.confidence import (
    Estimate,
    MomentSums,
    combine_estimates,
)
from opencrab.domain.statistics.seeded_random import SeededRandom
from opencrab.domain.value import Value

DRAWS = 100
MODELS = 20
"""The limit of models in a traffic split, the same as in `Mix`."""

LEAST_JUDGED, LEAST_TRIED = 20, 3
"""Judged turns of a model before it can be preferred, without exploration and with it. With
exploration a wrong choice is found out. Without it, two models need as many."""

SURE = 0.8
"""The share of draws in which another model must be better to be preferred without exploration."""

BALANCE_COST = 0.25
"""The weight of cost for `balance`: the most expensive model must have this much more quality than
a free one."""

SHORT = 1_000.0
"""The penalty for quality below the minimum; such models are used only if the budget allows no
other."""

SPENT = 0.97
"""The share of a day's budget that is planned; the rest is for days with more turns."""

RESERVE = 0.7
"""The standard deviations of a day's cost for which a plan leaves room: where single turns cost
much more than others, a day planned to its mean ends with people who get no answer."""

_STEPS, _SMALL, _TWO = 60, 0.002, 2
_DEAREST, _CHEAPEST, _NEARLY = 1e7, 1e-12, 0.02
UNKNOWN = RewardBelief(0.55, 0.14)
"""The belief about a model without turns."""

SCALE = 0.5
"""The factor of the posterior's standard deviation in draws: half of the doubt finds a better model
nearly as soon, at half of the cost."""


class BanditArm(Value):
    """A model that may be chosen, by alias and name, with its evidence.

    `price` is the expected cost of a turn (micro-dollars) at today's prices; without it the mean of
    all turns counts, and without both the model is not used. `belief` is what the reward model
    believes of its quality.
    """

    model: str
    name: str
    evidence: ModelEvidence = ModelEvidence()
    price: float | None = None
    belief: RewardBelief = UNKNOWN

    @property
    def cost(self) -> float | None:
        """The expected cost of a turn in micro-dollars; None if unknown."""
        known = self.evidence.cost.mean if self.price is None else self.price
        return None if known is None else max(known, 0.0)

    @property
    def quality(self) -> MomentSums:
        """The sums of its turns' rewards; a turn without an answer counts 0."""
        return self.evidence.value_sums

    @property
    def estimate(self) -> Estimate:
        """What is believed of its quality, with the 95 % credible interval."""
        mean, low, high = (
            min(max(each, 0.0), 1.0) for each in (self.belief.mean, *self.belief.limits)
        )
        return Estimate(n=self.quality.n, mean=mean, low=low, high=high)


class BanditSubject(Value):
    """One purpose and type of task: its candidate models, turns a day, and present model."""

    arms: tuple[BanditArm, ...]
    turns_a_day: float = Field(default=1.0, ge=0)
    current: str = ""

    def day_cost(self, model: str) -> float:
        """Return what a day costs with a model alone, in micro-dollars."""
        return self.turns_a_day * sum(x.cost or 0.0 for x in self.arms if x.model == model)


class BanditMix(Value):
    """Weights by alias that add up to 1, with the expected quality, cost and latency of a turn.

    `best` are the models considered best: one, or two between which the money is split. All others
    together have at most the share for exploration.
    """

    weights: dict[str, float]
    best: tuple[str, ...]
    quality: Estimate
    cost_micro_usd: float
    latency_ms: float | None = None
    reason: str = "learned"


def bandit_mixes(
    subjects: Mapping[str, BanditSubject],
    aim: Aim,
    *,
    day_micro_usd: int,
    seed: str,
    on_average: bool = False,
) -> dict[str, tuple[BanditMix | None, str]]:
    """Compute the traffic splits of all purposes and types of task, which share one day's budget.

    `on_average`: the budget is what a day may cost in the mean, and no room is left for dear days.
    The reason is one of `learned`, `over_budget` (even the cheapest models cost more), `no_models`,
    `one_model`, `too_little_data`, `no_price`, `not_sure` (another model may be better, but
    exploration is off).
    """
    reasons = {name: _unready(subject, aim) for name, subject in subjects.items()}
    tables = {
        name: _Table(each, aim, f"{seed}/{name}")
        for name, each in subjects.items()
        if not reasons[name]
    }
    spent = sum(
        each.day_cost(each.current) for name, each in subjects.items() if name not in tables
    )
    planned, reserve = (1.0, 0.0) if on_average else (SPENT, RESERVE)
    plan = _plan_within_budget(tables, day_micro_usd * planned - spent, reserve)
    return {
        name: _build_mix(tables[name], name, plan) if name in tables else (None, reasons[name])
        for name in subjects
    }


class _Table:
    """The data of one subject's arms: draws of their qualities, costs, and latencies."""

    def __init__(self, subject: BanditSubject, aim: Aim, seed: str) -> None:
        self.aim, self.current, self.turns = aim, subject.current, subject.turns_a_day
        self.arms = [each for each in subject.arms if _may_be_asked(each, aim)]
        self._proven = [place for place, each in enumerate(self.arms) if _is_proven(each, aim)]
        self.costs = [each.cost or 0.0 for each in self.arms]
        spread = _cost_spread(self.arms)
        self.variances = [spread * cost * cost for cost in self.costs]
        self._charges = _charges(aim.goal, self.costs, [_latency(each) for each in self.arms])
        self._by_quality = float(
            aim.goal in {OptimizationGoal.MAXIMIZE_QUALITY, OptimizationGoal.BALANCE}
        )
        beliefs, chance = [each.belief for each in self.arms], SeededRandom(seed)
        self._means = self._values([each.mean for each in beliefs])
        # Without exploration the whole doubt counts, as nothing else would find a wrong choice out.
        scale = SCALE if aim.explore > 0 else 1.0
        self._draws = [
            self._values([each.mean + scale * each.sd * chance.normal() for each in beliefs])
            for _ in range(DRAWS)
        ]

    def best(self, price: float) -> int:
        """Return the best arm at a price on money, of those with enough data."""
        return max(self._proven, key=lambda arm: self._means[arm] - price * self.costs[arm])

    def shares(self, price: float) -> list[float]:
        """Return the share of draws in which each arm is the best."""
        wins = [0] * len(self.arms)
        for draw in self._draws:
            wins[self._first(draw, price)] += 1
        return [each / DRAWS for each in wins]

    def is_sure(self, arm: int, price: float) -> bool:
        """Check whether an arm beats the present one in most draws (SURE), or the budget needs it.

        Always true if the present model is not among the arms: there is nothing to keep.
        """
        present = [place for place, each in enumerate(self.arms) if each.model == self.current]
        if not present or present[0] == arm:
            return True
        now, more = present[0], self.costs[arm] - self.costs[present[0]]
        wins = sum(draw[arm] - draw[now] >= price * more for draw in self._draws)
        return wins >= SURE * DRAWS or (more < 0 < price)

    def _first(self, values: Sequence[float], price: float) -> int:
        priced = [value - price * cost for value, cost in zip(values, self.costs, strict=True)]
        return priced.index(max(priced))

    def _values(self, qualities: Sequence[float]) -> list[float]:
        least = self.aim.min_quality
        return [
            self._by_quality * quality
            - cost
            - (SHORT * (least - quality) if quality < least else 0)
            for quality, cost in zip(qualities, self._charges, strict=True)
        ]


def _charges(
    goal: OptimizationGoal, costs: Sequence[float], latencies: Sequence[float | None]
) -> list[float]:
    """Compute the cost term of each arm under a goal, apart from missing quality."""
    dearest = max([*costs, 1.0])
    slowest = max([1.0, *(each for each in latencies if each is not None)])
    match goal:
        case OptimizationGoal.MAXIMIZE_QUALITY:
            return [0.0 for _ in costs]
        case OptimizationGoal.MINIMIZE_COST:
            return [cost / dearest for cost in costs]
        case OptimizationGoal.MINIMIZE_LATENCY:
            return [1.0 if each is None else each / slowest for each in latencies]
        case OptimizationGoal.BALANCE:
            return [BALANCE_COST * cost / dearest for cost in costs]


class _Plan(Value):
    """The weights of each subject's arms at a price of money, and which arms are thought best.

    Between two neighbouring prices one subject changes its arm: the money is split there.
    """

    weights: dict[str, list[float]]
    best: dict[str, tuple[int, ...]]
    price: float
    word: str = "learned"


def _plan_within_budget(tables: Mapping[str, _Table], budget: float, reserve: float) -> _Plan:
    """Find the plan at the lowest price of money whose cost is within the budget.

    Exploration is paid from the same budget at the same price, so that what is tried costs no more
    than what may be learned by it is thought to be worth.
    """
    low, high = 0.0, _DEAREST
    dear, cheap = _priced_plan(tables, low), _priced_plan(tables, high)
    if _cost(tables, dear, reserve) <= budget:
        return dear
    if _cost(tables, cheap, reserve) > budget:
        return cheap.replaced(word="over_budget", price=low)
    for _ in range(_STEPS):
        middle = sqrt(low * high) if low else high / 1e3
        plan = _priced_plan(tables, middle)
        if _cost(tables, plan, reserve) > budget:
            low, dear = middle, plan
        else:
            high, cheap = middle, plan
        if high < _CHEAPEST or high - low < _NEARLY * high:
            break
    spent, least = _cost(tables, dear, reserve), _cost(tables, cheap, reserve)
    share = (budget - least) / (spent - least)
    mixed = {
        name: [
            share * more + (1 - share) * less
            for more, less in zip(dear.weights[name], cheap.weights[name], strict=True)
        ]
        for name in tables
    }
    best = {name: tuple(sorted({*dear.best[name], *cheap.best[name]})) for name in tables}
    return _Plan(weights=mixed, best=best, price=high)


def _priced_plan(tables: Mapping[str, _Table], price: float) -> _Plan:
    """Return the best arm of each subject at a price, and the others' shares for exploration."""
    weights, found = dict[str, list[float]](), dict[str, tuple[int, ...]]()
    for name, table in tables.items():
        best, shares = table.best(price), table.shares(price)
        others = 1 - shares[best]
        scale = min(table.aim.explore / others, 1.0) if others > 0 else 0.0
        weights[name] = [scale * share for share in shares]
        weights[name][best] = 1 - scale * others
        found[name] = (best,)
    return _Plan(weights=weights, best=found, price=price)


def _cost(tables: Mapping[str, _Table], plan: _Plan, reserve: float) -> float:
    """Return what a day costs in micro-dollars, and `reserve` standard deviations of that."""
    mean = variance = 0.0
    for name, table in tables.items():
        weights = plan.weights[name]
        mean += table.turns * _mean_cost(weights, table.costs)
        variance += table.turns * _mean_cost(weights, table.variances)
    return mean + reserve * sqrt(variance)


def _cost_spread(arms: Sequence[BanditArm]) -> float:
    """Return the variance of a turn's cost relative to the square of its mean, over all arms."""
    known = [arm.evidence.cost for arm in arms if arm.evidence.cost.total]
    # Of each arm n times the relative variance, so that those with more turns count more.
    spread = sum(each.n * (each.squares * each.n / each.total**2 - 1) for each in known)
    return max(spread / sum(each.n for each in known), 0.0) if known else 0.0


def _mean_cost(weights: Sequence[float], costs: Sequence[float]) -> float:
    return sum(weight * cost for weight, cost in zip(weights, costs, strict=True))


def _build_mix(table: _Table, name: str, plan: _Plan) -> tuple[BanditMix | None, str]:
    """Build a subject's traffic split from the plan, or return None; with the reason's code."""
    weights, best = plan.weights[name], set(plan.best[name])
    if table.aim.explore == 0:
        only = table.best(plan.price)
        best, weights = {only}, [float(arm == only) for arm in range(len(weights))]
        if not table.is_sure(only, plan.price):
            return None, "not_sure"
    weights = _round_weights(weights, max(sorted(best), key=weights.__getitem__))
    known = [(weight, arm) for weight, arm in zip(weights, table.arms, strict=True) if weight > 0]
    costs = sum(weight * (arm.cost or 0.0) for weight, arm in known)
    return BanditMix(
        weights={arm.model: weight for weight, arm in known},
        best=tuple(table.arms[arm].model for arm in sorted(best)),
        quality=combine_estimates([(each, arm.estimate) for each, arm in known]),
        cost_micro_usd=costs,
        latency_ms=_mean_latency(known),
        reason=plan.word,
    ), plan.word


def _mean_latency(known: Sequence[tuple[float, BanditArm]]) -> float | None:
    told = [(weight, _latency(arm)) for weight, arm in known]
    weight = sum(weight for weight, each in told if each is not None)
    if not weight:
        return None
    return sum(weight * each for weight, each in told if each is not None) / weight


def _round_weights(weights: Sequence[float], largest: int) -> list[float]:
    """Round weights to four places that add up to 1, without the smallest and all but MODELS.

    If more than MODELS are left out, the others grow in proportion.
    """
    order = sorted(range(len(weights)), key=lambda arm: (arm != largest, -weights[arm], arm))
    whole = sum(weights[arm] for arm in order[:MODELS]) if order[MODELS:] else 1.0
    found = [round(each / whole, 4) if each >= _SMALL else 0.0 for each in weights]
    for arm in (largest, *order[MODELS:]):
        found[arm] = 0.0
    found[largest] = round(1 - sum(found), 4)
    return found


def _unready(subject: BanditSubject, aim: Aim) -> str:
    """Return the code for why a subject's split cannot be computed; "" if it can be."""
    if len(subject.arms) < _TWO:
        return "one_model" if subject.arms else "no_models"
    if sum(each.cost is not None for each in subject.arms) < _TWO:
        return "no_price"
    asked = [each for each in subject.arms if _may_be_asked(each, aim)]
    proven = any(_is_proven(each, aim) for each in asked)
    return "" if proven and len(asked) >= _TWO else "too_little_data"


def _may_be_asked(arm: BanditArm, aim: Aim) -> bool:
    """Check whether an arm may be used: it has a price, and enough data unless exploring."""
    if arm.cost is None:
        return False
    return aim.explore > 0 or _is_proven(arm, aim)


def _is_proven(arm: BanditArm, aim: Aim) -> bool:
    """Check whether an arm has enough judged turns to be best; others may only be explored."""
    return arm.quality.n >= (LEAST_TRIED if aim.explore > 0 else LEAST_JUDGED)


def _latency(arm: BanditArm) -> float | None:
    return arm.evidence.latency.mean
