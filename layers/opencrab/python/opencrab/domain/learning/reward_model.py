"""Worth model: one Bayesian linear model of a turn's worth, 0 to 1, by task, model and skills.

    worth = task + model + task x model + skills given (each: skill + skill x task) + noise

Every term has a normal prior, so what is known of one task helps with the next. Turns enter as
sums of products, which add up day by day; older days count less (`DISCOUNT`). The posterior is
exact for these sums (Lindley and Smith, "Bayes estimates for the linear model", 1972).
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from math import erf, exp, log, pi, sqrt
from operator import mul
from typing import NamedTuple

from opencrab.domain.money.budget import Price
from opencrab.domain.value import Value

NOISE = 0.4
"""The standard deviation of a fully judged turn's worth around its expectation."""

DISCOUNT = 0.995
"""The weight of a day's turns relative to those of the day after: models and habits change."""

FEATURES = 220
"""The limit of terms in stored sums: those with the most turns."""

MODEL, TASK, CELL, SKILL, TOPIC, FIT = "model", "task", "cell", "skill", "topic", "fit"
"""The kinds of terms: `model/M`, `task/PURPOSE/TYPE`, `cell/PURPOSE/TYPE/M`, `skill/S`, `topic/S`
(the turns that a skill fits, whether or not it was given) and `fit/S/TYPE`."""

ACTED = "acted"
"""The term for the share of a turn's worth that its actions' success makes up."""

_MEAN, _SLOPE, _HELP = 0.55, 0.05, 0.03
_SPREAD = {MODEL: 0.12, TASK: 0.1, CELL: 0.07, SKILL: 0.12, TOPIC: 0.04, FIT: 0.08, ACTED: 0.3}
_PLACES, _READ_PER_WRITTEN = 7, 4.0
_95 = 1.959964
_LATE = {TOPIC: 1, SKILL: 2, FIT: 2}


class RewardRow(NamedTuple):
    """One judged turn: the values of its terms, its worth, and how much it counts."""

    terms: Mapping[str, float]
    worth: float
    weight: float


class RewardSums(Value):
    """Sums over turns: of products of two terms (rows of a lower triangle), and of term and worth.

    The rows of `products` and the numbers in `values` are in the order of `names`.
    """

    names: tuple[str, ...] = ()
    products: tuple[tuple[float, ...], ...] = ()
    values: tuple[float, ...] = ()

    def weight(self, first: str, second: str = "") -> float:
        """Return the sum of the product of two terms, or of a term's square; 0 if unknown."""
        if first not in self.names or (second or first) not in self.names:
            return 0.0
        places = self.names.index(first), self.names.index(second or first)
        return self.products[max(places)][min(places)]


NO_REWARDS = RewardSums()


class RewardBelief(NamedTuple):
    """A normal belief about a number: its mean and standard deviation."""

    mean: float
    sd: float

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the 95 % credible interval."""
        return self.mean - _95 * self.sd, self.mean + _95 * self.sd

    @property
    def positive(self) -> float:
        """The probability that the number is above 0."""
        return normal_share(self.mean / self.sd)

    @property
    def loss(self) -> float:
        """The expected loss of acting as if the number were above 0."""
        ratio = self.mean / self.sd
        density = exp(-ratio * ratio / 2) / sqrt(2 * pi)
        return max(self.sd * density - self.mean * normal_share(-ratio), 0.0)


def normal_share(value: float) -> float:
    """Return the share of the standard normal distribution below a value."""
    return (1 + erf(value / sqrt(2))) / 2


def reward_sums_of_rows(rows: Iterable[RewardRow]) -> RewardSums:
    """Sum up judged turns."""
    places, products, values = dict[str, int](), list[list[float]](), list[float]()
    for row in rows:
        listed = list[tuple[int, float]]()
        for name, value in row.terms.items():
            place = places.get(name)
            if place is None:
                place = places[name] = len(places)
                products.append([0.0] * (place + 1))
                values.append(0.0)
            listed.append((place, value))
        listed.sort()
        for number, (place, value) in enumerate(listed, start=1):
            weighted, line = value * row.weight, products[place]
            values[place] += weighted * row.worth
            for other, much in listed[:number]:
                line[other] += weighted * much
    names = sorted(places, key=_order)
    order = [places[name] for name in names]
    return RewardSums(
        names=tuple(names),
        products=tuple(
            tuple(products[max(place, other)][min(place, other)] for other in order[:number])
            for number, place in enumerate(order, start=1)
        ),
        values=tuple(values[place] for place in order),
    )


def _order(name: str) -> tuple[int, str]:
    """Return a term's place in sums: those of skills last, whose beliefs are asked for most."""
    kind, _, rest = name.partition("/")
    return (_LATE.get(kind, 0), f"{rest.partition('/')[0]}/{name}")


def combine_reward_sums(parts: Iterable[tuple[float, RewardSums]]) -> RewardSums:
    """Add up sums, each multiplied by its share."""
    listed = [(share, sums) for share, sums in parts if sums.names]
    if len(listed) == 1 and listed[0][0] == 1:
        return listed[0][1]
    names = sorted({name for _, sums in listed for name in sums.names}, key=_order)
    known = {name: place for place, name in enumerate(names)}
    rows = [[0.0] * (place + 1) for place in range(len(names))]
    values = [0.0] * len(names)
    for share, sums in listed:
        # Both orders are that of the names, so the triangle stays a lower one.
        places = [known[name] for name in sums.names]
        for at, products, value in zip(places, sums.products, sums.values, strict=True):
            values[at] += share * value
            row = rows[at]
            for other, product in zip(places, products, strict=False):
                row[other] += share * product
    return RewardSums(names=tuple(names), products=tuple(map(tuple, rows)), values=tuple(values))


def reward_sums_without(sums: RewardSums, names: Collection[str]) -> RewardSums:
    """Return sums from which these terms are integrated out with their priors.

    What was known of the other terms, such as of skills that were given together with them, stays.
    """
    gone = [name for name in sums.names if name in names]
    if not gone:
        return sums
    matrix = _square(sums)
    values = dict(zip(sums.names, sums.values, strict=True))
    left = list(sums.names)
    for name in gone:
        left.remove(name)
        row = matrix.pop(name)
        precision = NOISE**2 / _prior_variance(name)
        pivot = row[name] + precision
        centre = (values.pop(name) + precision * _prior_mean(name, {})) / pivot
        # Most terms never met in one turn: only those that did are touched.
        near = [(other, row[other]) for other in left if row[other]]
        for other, factor in near:
            values[other] -= factor * centre
            share, line = factor / pivot, matrix[other]
            for third, product in near:
                line[third] -= share * product
    return RewardSums(
        names=tuple(left),
        products=tuple(
            tuple(matrix[name][other] for other in left[: place + 1])
            for place, name in enumerate(left)
        ),
        values=tuple(values[name] for name in left),
    )


def trim_reward_sums(sums: RewardSums) -> RewardSums:
    """Return sums of at most FEATURES terms, those with the most turns, with rounded numbers."""
    if len(sums.names) > FEATURES:
        weights = {name: sums.products[place][place] for place, name in enumerate(sums.names)}
        order = sorted(weights, key=lambda name: (-weights[name], name))
        sums = reward_sums_without(sums, frozenset(order[FEATURES:]))
    return RewardSums(
        names=sums.names,
        products=tuple(tuple(_short(each) for each in row) for row in sums.products),
        values=tuple(_short(each) for each in sums.values),
    )


class RewardPosterior:
    """What is believed of every term after the turns in some sums.

    `prices` are what models charge, by name in any one unit: before any turn, dearer models are
    believed to be a little better.
    """

    def __init__(self, sums: RewardSums, prices: Mapping[str, float] | None = None) -> None:
        self.sums, self._prices = sums, _standard_scores(prices or {})
        self._places = {name: place for place, name in enumerate(sums.names)}
        scale = NOISE**-2
        rows, known = [], []
        for place, name in enumerate(sums.names):
            row = [each * scale for each in sums.products[place]]
            precision = 1 / _prior_variance(name)
            row[place] += precision
            rows.append(row)
            known.append(sums.values[place] * scale + precision * _prior_mean(name, self._prices))
        self._factor = _cholesky(rows)
        self._means = _solve(self._factor, known)

    def belief(self, terms: Mapping[str, float]) -> RewardBelief:
        """Return the belief about a weighted sum of terms; unknown ones count by their priors."""
        mean = variance = 0.0
        vector = [0.0] * len(self._means)
        for name, share in terms.items():
            place = self._places.get(name)
            if place is None:
                mean += share * _prior_mean(name, self._prices)
                variance += share * share * _prior_variance(name)
            else:
                mean += share * self._means[place]
                vector[place] += share
        half = _forward(self._factor, vector)
        return RewardBelief(mean, sqrt(max(variance + sum(map(mul, half, half)), 1e-12)))

    def of_model(self, subject: str, model: str) -> RewardBelief:
        """Return the belief about the mean worth of a model's turns for a type of task."""
        return self.belief(
            {
                f"{MODEL}/{model}": 1.0,
                f"{CELL}/{subject}/{model}": 1.0,
                f"{TASK}/{subject}": 1.0,
            }
        )

    def of_skill(self, skill: str, shares: Mapping[str, float]) -> RewardBelief:
        """Return the belief about a skill's effect over types of task, by their shares."""
        return self.belief(
            {f"{SKILL}/{skill}": 1.0}
            | {f"{FIT}/{skill}/{kind}": share for kind, share in shares.items() if share}
        )

    def skill_task_weights(self, skill: str) -> dict[str, float]:
        """Return how many judged turns a skill fitted, discounted, by type of task."""
        found, topic = dict[str, float](), f"{TOPIC}/{skill}"
        for name in self.sums.names:
            kind, _, subject = name.partition("/")
            if kind == TASK and (weight := self.sums.weight(topic, name)):
                task_type = subject.rpartition("/")[2]
                found[task_type] = found.get(task_type, 0.0) + weight
        return found


@lru_cache(maxsize=1)
def reward_posterior(
    sums: RewardSums, prices: tuple[tuple[str, float], ...] = ()
) -> RewardPosterior:
    """Return the posterior of some sums; that of the last ones is kept, as a night asks often."""
    return RewardPosterior(sums, dict(prices))


def prior_prices(prices: Mapping[str, Price]) -> tuple[tuple[str, float], ...]:
    """Return what an average token of each model costs, for the prior."""
    return tuple(
        (name, _READ_PER_WRITTEN * each.input_per_million + each.output_per_million)
        for name, each in prices.items()
    )


def _prior_mean(name: str, scores: Mapping[str, float]) -> float:
    kind, _, rest = name.partition("/")
    if kind == MODEL:
        return _MEAN + _SLOPE * scores.get(rest, 0.0)
    return _HELP if kind == SKILL else 0.0


def _prior_variance(name: str) -> float:
    return _SPREAD[name.partition("/")[0]] ** 2


def _standard_scores(prices: Mapping[str, float]) -> dict[str, float]:
    """Return by how many standard deviations the logarithm of each price is above the mean."""
    logs = {name: log(price) for name, price in prices.items() if price > 0}
    if not logs:
        return {}
    mean = sum(logs.values()) / len(logs)
    spread = sqrt(sum((each - mean) ** 2 for each in logs.values()) / len(logs))
    return {name: (each - mean) / spread for name, each in logs.items()} if spread else {}


def _square(sums: RewardSums) -> dict[str, dict[str, float]]:
    found = {name: dict.fromkeys(sums.names, 0.0) for name in sums.names}
    for name, row in zip(sums.names, sums.products, strict=True):
        for other, product in zip(sums.names, row, strict=False):
            found[name][other] = found[other][name] = product
    return found


def _cholesky(rows: list[list[float]]) -> list[list[float]]:
    """Return the lower triangular factor of a positive definite matrix's lower triangle."""
    factor = list[list[float]]()
    for row in rows:
        found = list[float]()
        for value, other in zip(row, factor, strict=False):
            rest = value - sum(map(mul, found, other))
            found.append(rest / other[len(found)])
        rest = row[-1] - sum(map(mul, found, found))
        found.append(sqrt(max(rest, 1e-12)))
        factor.append(found)
    return factor


def _forward(factor: list[list[float]], values: list[float]) -> list[float]:
    """Solve the system of the factor itself; leading zeros stay zeros."""
    first = next((place for place, value in enumerate(values) if value), len(values))
    found = [0.0] * first
    for place in range(first, len(values)):
        row = factor[place]
        found.append((values[place] - sum(map(mul, row, found))) / row[-1])
    return found


def _solve(factor: list[list[float]], values: list[float]) -> list[float]:
    """Solve a system of equations by its Cholesky factor."""
    left = _forward(factor, values)
    for place in range(len(left) - 1, -1, -1):
        row = factor[place]
        left[place] /= row[place]
        value = left[place]
        for other in range(place):
            left[other] -= row[other] * value
    return left


def _short(value: float) -> float:
    return float(f"{value:.{_PLACES}g}")
