"""Mixing: how often each model is asked, given what is known of it and what may be spent.

Constrained Thompson sampling (Thompson 1933; with a budget as in Agrawal and Devanur, "Bandits with
concave rewards and convex knapsacks", 2014): models are asked as often as they are the best choice
in draws from what is known, at a price on money that keeps the day within its budget.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from pydantic import Field

from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.models.optimization import Aim, Wish
from opencrab.domain.statistics.confidence import (
    Estimate,
    MomentSums,
    combine_estimates,
    estimate_mean,
)
from opencrab.domain.statistics.seeded_random import SeededRandom
from opencrab.domain.value import Value

DRAWS = 200
MODELS = 20
"""Models that a mix asks at most; a `Mix` has no room for more."""

LEAST_JUDGED, LEAST_TRIED = 20, 10
"""Judged turns of a model before it can be preferred, where nothing may be tried and where it may:
what was believed too soon is found out there. Without trying, two models need as many.
"""

SURE = 0.8
"""Where nothing may be tried, another model must be better in so many draws to be preferred."""

BALANCE_COST = 0.25
"""What a balance pays: the dearest model must bring so much more quality than a free one."""

SHORT = 1_000.0
"""What quality below the least costs, so that it is had only where the budget allows no other."""

SPENT = 0.95
"""Share of a day's budget that is planned; the rest is for days that bring more."""

_PRIOR, _STEPS, _SMALL, _TWO = 2.0, 60, 0.002, 2
_DEAREST, _CHEAPEST = 1e7, 1e-12
UNKNOWN = Estimate(n=0, mean=0.5, low=0.0, high=1.0)
"""What is held of a model without turns."""


class BanditArm(Value):
    """A model that may be asked, by its alias and its name, and what is known of it.

    `price` is what a turn is expected to cost (micro-dollars) where no turn tells; None with no
    turn either means that nobody knows, and the model is not asked. `graded` is what calibrated
    grades add (`calibration.calibration_sums`).
    """

    model: str
    name: str
    evidence: ModelEvidence = ModelEvidence()
    price: float | None = None
    graded: MomentSums = MomentSums()

    @property
    def cost(self) -> float | None:
        """What a turn costs on average, in micro-dollars."""
        known = self.evidence.cost.mean
        return self.price if known is None else max(known, 0.0)

    @property
    def quality(self) -> MomentSums:
        """What its turns were worth; one for which it had no answer is worth nothing."""
        return self.evidence.worth


class BanditSubject(Value):
    """One purpose and type of task: who may do it, how often a day, and who does it now."""

    arms: tuple[BanditArm, ...]
    turns_a_day: float = Field(default=1.0, ge=0)
    current: str = ""


class BanditMix(Value):
    """Weights by alias that add up to 1, and what a turn is expected to be, cost and take.

    `best` are the models held for best: one, or two between which the money is split. All others
    together have at most the share that may be tried out.
    """

    weights: dict[str, float]
    best: tuple[str, ...]
    quality: Estimate
    cost_micro_usd: float
    latency_ms: float | None = None
    reason: str = "learned"


def bandit_mixes(
    subjects: Mapping[str, BanditSubject], aim: Aim, *, day_micro_usd: int, seed: str
) -> dict[str, tuple[BanditMix | None, str]]:
    """The mixes of all purposes and types of task, which share one day's budget.

    The words: `learned`, `over_budget` (even the cheapest cost more), `no_models`, `one_model`,
    `too_little_data`, `no_price`, `not_sure` (another may be better, and nothing may be tried).
    """
    reasons = {name: _unready(subject, aim) for name, subject in subjects.items()}
    tables = {
        name: _Table(each, aim, f"{seed}/{name}")
        for name, each in subjects.items()
        if not reasons[name]
    }
    spent = sum(_now(each) for name, each in subjects.items() if name not in tables)
    plan = _plan_within_budget(tables, day_micro_usd * SPENT - spent)
    return {
        name: _build_mix(tables[name], name, plan) if name in tables else (None, reasons[name])
        for name in subjects
    }


def is_quality_below(before: Estimate, now: Estimate) -> bool:
    """Whether quality since a change lies below what was known before it, beyond any doubt left.

    Both intervals are taken as `domain.statistics.confidence.estimate_difference` does.
    """
    if now.n < LEAST_JUDGED:
        return False
    room = sqrt((before.mean - before.low) ** 2 + (now.high - now.mean) ** 2)
    return before.mean - now.mean > room


class _Table:
    """What is known of one subject's arms: draws of their qualities, costs, and latencies."""

    def __init__(self, subject: BanditSubject, aim: Aim, seed: str) -> None:
        self.aim, self.current, self.turns = aim, subject.current, subject.turns_a_day
        self.arms = [each for each in subject.arms if _may_be_asked(each, aim)]
        self._proven = [place for place, each in enumerate(self.arms) if _is_proven(each, aim)]
        self.costs = [each.cost or 0.0 for each in self.arms]
        self._charges = _charges(aim.goal, self.costs, [_latency(each) for each in self.arms])
        self._by_quality = float(aim.goal in {Wish.MAXIMIZE_QUALITY, Wish.BALANCE})
        shapes = [_shape(each.quality + each.graded) for each in self.arms]
        chance = SeededRandom(seed)
        self._means = self._values([a / (a + b) for a, b in shapes])
        self._draws = [self._values([chance.beta(a, b) for a, b in shapes]) for _ in range(DRAWS)]

    def best(self, price: float) -> int:
        """The arm that is held for best at a price on money: one of those that proved it."""
        return max(self._proven, key=lambda arm: self._means[arm] - price * self.costs[arm])

    def shares(self, price: float) -> list[float]:
        """In how many of the draws each arm is the best."""
        wins = [0] * len(self.arms)
        for draw in self._draws:
            wins[self._first(draw, price)] += 1
        return [each / DRAWS for each in wins]

    def focused(self, shares: Sequence[float]) -> list[float]:
        """Shares of which one arm that nobody knows well has those of all such arms.

        One after the other they are known sooner than all at once.
        """
        unknown = [arm for arm, share in enumerate(shares) if share and arm not in self._proven]
        first = max(unknown, key=lambda arm: (self.arms[arm].quality.n, shares[arm]), default=None)
        found = [0.0 if arm in unknown else share for arm, share in enumerate(shares)]
        if first is not None:
            found[first] = sum(shares[arm] for arm in unknown)
        return found

    def is_sure(self, arm: int, price: float) -> bool:
        """Whether an arm is better than the present one in nearly all draws, or money demands it.

        Where the present one is none of those that may be chosen there is nothing to keep.
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
        """What arms of such qualities are good for, under the goal."""
        least = self.aim.min_quality
        return [
            self._by_quality * quality
            - cost
            - (SHORT * (least - quality) if quality < least else 0)
            for quality, cost in zip(qualities, self._charges, strict=True)
        ]


def _charges(goal: Wish, costs: Sequence[float], latencies: Sequence[float | None]) -> list[float]:
    """What each arm has against it under a goal, besides the quality that it lacks."""
    dearest = max([*costs, 1.0])
    slowest = max([1.0, *(each for each in latencies if each is not None)])
    match goal:
        case Wish.MAXIMIZE_QUALITY:
            return [0.0 for _ in costs]
        case Wish.MINIMIZE_COST:
            return [cost / dearest for cost in costs]
        case Wish.MINIMIZE_LATENCY:
            return [1.0 if each is None else each / slowest for each in latencies]
        case Wish.BALANCE:
            return [BALANCE_COST * cost / dearest for cost in costs]


class _Plan(Value):
    """What is planned for each subject: the share tried out by arm, and the rest for the best."""

    tried: dict[str, list[float]]
    dear: dict[str, int]
    cheap: dict[str, int]
    dear_share: float
    price: float
    word: str

    def weights(self, name: str) -> list[float]:
        """Weights of a subject's arms."""
        found = list(self.tried[name])
        rest = 1 - sum(found)
        found[self.dear[name]] += rest * self.dear_share
        found[self.cheap[name]] += rest * (1 - self.dear_share)
        return found


def _plan_within_budget(tables: Mapping[str, _Table], budget: float) -> _Plan:
    """A plan whose expected cost is within the budget, if any is.

    First the price on money is found at which the best arms are affordable, then the arms that win
    draws at this price get their share, and what that costs is taken from the rest.
    """
    nothing = {name: [0.0] * len(table.arms) for name, table in tables.items()}
    first = _affordable(tables, nothing, budget)
    tried = {name: _exploration_shares(table, first) for name, table in tables.items()}
    plan = _affordable(tables, tried, budget)
    return first if plan.word != "learned" else plan


def _affordable(
    tables: Mapping[str, _Table], tried: dict[str, list[float]], budget: float
) -> _Plan:
    """The best arms at the lowest price on money that keeps to the budget.

    Between two prices next to each other one subject changes its arm: the money is split there.
    """

    def cost(arms: Mapping[str, int]) -> float:
        return sum(
            table.turns
            * (
                sum(share * each for share, each in zip(tried[name], table.costs, strict=True))
                + (1 - sum(tried[name])) * table.costs[arms[name]]
            )
            for name, table in tables.items()
        )

    low, high = 0.0, _DEAREST
    dear = {name: table.best(low) for name, table in tables.items()}
    cheap = {name: table.best(high) for name, table in tables.items()}
    spent, least = cost(dear), cost(cheap)
    if spent <= budget or least > budget:
        word = "learned" if spent <= budget else "over_budget"
        arms = dear if spent <= budget else cheap
        return _Plan(tried=tried, dear=arms, cheap=arms, dear_share=1, price=low, word=word)
    for _ in range(_STEPS):
        middle = sqrt(low * high) if low else high / 1e3
        arms = {name: table.best(middle) for name, table in tables.items()}
        if cost(arms) > budget:
            low, dear = middle, arms
        else:
            high, cheap = middle, arms
        if high < _CHEAPEST:
            break
    spent, least = cost(dear), cost(cheap)
    share = (budget - least) / (spent - least)
    return _Plan(tried=tried, dear=dear, cheap=cheap, dear_share=share, price=high, word="learned")


def _exploration_shares(table: _Table, plan: _Plan) -> list[float]:
    """What is tried out: arms that win draws without being held for best, within the share."""
    best, shares = table.best(plan.price), table.shares(plan.price)
    others = table.focused([0.0 if arm == best else share for arm, share in enumerate(shares)])
    whole = sum(others)
    scale = min(table.aim.explore / whole, 1.0) if whole else 0.0
    return [each * scale for each in others]


def _build_mix(table: _Table, name: str, plan: _Plan) -> tuple[BanditMix | None, str]:
    """A subject's mix in the words of the callers."""
    weights = plan.weights(name)
    best = {plan.dear[name], plan.cheap[name]}
    if table.aim.explore == 0:
        best = {plan.cheap[name]}
        weights = [float(arm in best) for arm in range(len(weights))]
        if not table.is_sure(plan.cheap[name], plan.price):
            return None, "not_sure"
    weights = _round_weights(weights, max(sorted(best), key=weights.__getitem__))
    known = [(weight, arm) for weight, arm in zip(weights, table.arms, strict=True) if weight > 0]
    costs = sum(weight * (arm.cost or 0.0) for weight, arm in known)
    return BanditMix(
        weights={arm.model: weight for weight, arm in known},
        best=tuple(table.arms[arm].model for arm in sorted(best)),
        quality=combine_estimates(
            [(each, estimate_mean(arm.quality) or UNKNOWN) for each, arm in known]
        ),
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
    """Weights with four places that add up to 1; the smallest, and all but MODELS, are left out.

    Where so many are left out, the others grow alike.
    """
    order = sorted(range(len(weights)), key=lambda arm: (arm != largest, -weights[arm], arm))
    whole = sum(weights[arm] for arm in order[:MODELS]) if order[MODELS:] else 1.0
    found = [round(each / whole, 4) if each >= _SMALL else 0.0 for each in weights]
    for arm in (largest, *order[MODELS:]):
        found[arm] = 0.0
    found[largest] = round(1 - sum(found), 4)
    return found


def _unready(subject: BanditSubject, aim: Aim) -> str:
    """Why a subject's mix is not computed; "" if it can be."""
    if len(subject.arms) < _TWO:
        return "one_model" if subject.arms else "no_models"
    if sum(each.cost is not None for each in subject.arms) < _TWO:
        return "no_price"
    asked = [each for each in subject.arms if _may_be_asked(each, aim)]
    proven = any(_is_proven(each, aim) for each in asked)
    return "" if proven and len(asked) >= _TWO else "too_little_data"


def _may_be_asked(arm: BanditArm, aim: Aim) -> bool:
    """A model without a price never is; one of which little is known where things are tried."""
    if arm.cost is None:
        return False
    return aim.explore > 0 or _is_proven(arm, aim)


def _is_proven(arm: BanditArm, aim: Aim) -> bool:
    """Whether it may be held for best; any other may only be tried out."""
    return arm.quality.n >= (LEAST_TRIED if aim.explore > 0 else LEAST_JUDGED)


def _now(subject: BanditSubject) -> float:
    """What a subject costs a day as it is."""
    current = [each.cost or 0.0 for each in subject.arms if each.model == subject.current]
    return subject.turns_a_day * sum(current)


def _shape(quality: MomentSums) -> tuple[float, float]:
    """The Beta distribution with the moments of what is known, on the prior Beta(1, 1)."""
    weight = quality.n + _PRIOR
    mean = min(max((quality.total + _PRIOR / 2) / weight, 0.001), 0.999)
    spread = max(quality.variance, 1e-4) / (weight + 1)
    size = max(mean * (1 - mean) / spread - 1, _PRIOR)
    return mean * size, (1 - mean) * size


def _latency(arm: BanditArm) -> float | None:
    return arm.evidence.latency.mean
