"""Textbook learners beside ours: greedy, epsilon-greedy, Beta and linear Thompson sampling.

All plan at a price of money that keeps the day within its budget, like ours and the oracle.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt
from random import Random
from typing import Protocol

from opencrab.domain.learning.aggregate import learning_rewards_of_turns
from opencrab.domain.learning.reward import JudgedTurn
from opencrab.engine.simulation.learning.policies import SimulatedDay
from opencrab.engine.simulation.learning.world import TASK_TYPES
from tests.bench.worlds.families import (
    FITTING,
    TASKS,
    Asked,
    BenchModel,
    BenchSkill,
    BenchWorld,
    split_at_price,
)

_TRIED, _LEAST, _PLANNED, _DRAWS = 5, 20, 0.97, 20


class Learner(Protocol):
    """Whoever chooses a model and skills for each turn, and learns at night."""

    def choose_model(self, asked: Asked) -> tuple[str, float]:
        """Return the model to call, and how likely it was."""

    def choose_skills(self, asked: Asked) -> tuple[list[BenchSkill], list[BenchSkill]]:
        """Return the skills to give, and those withheld at random."""

    def measured(self, skills: Sequence[BenchSkill]) -> tuple[str, ...]:
        """Return the names that the turn's signals record."""

    def learn(self, day: int, seen: SimulatedDay) -> None:
        """Learn from what a day let be seen."""


class Greedy:
    """The model with the best mean at today's price of money; a skill is dropped below the mean."""

    explore = 0.0

    def __init__(self, world: BenchWorld) -> None:
        self.world, self.name = world, type(self).__name__
        self.chance = Random(f"{self.name}/{world.family}/{world.seed}")  # noqa: S311
        self.turns = [1.0] * TASKS
        self.models = defaultdict[tuple[int, str], list[float]](list)
        self.skills = defaultdict[str, list[float]](list)
        self.gone, self.asked = set[str](), [0] * TASKS
        self.mix: dict[int, dict[str, float]] | None = None
        self.day = -1

    def value(self, task: int, model: str) -> float:
        """Return what a model is thought to be worth."""
        known = self.models[task, model]
        return sum(known) / len(known) if known else 0.5

    def plan(self) -> dict[int, dict[str, float]]:
        """Return the shares of models at today's prices."""
        world, models = self.world, self.world.models
        whole = sum(self.turns)

        def picked(price: float) -> list[BenchModel]:
            return [
                max(models, key=lambda each: self.value(task, each.name) - price * each.cost)
                for task in range(TASKS)
            ]

        def cost(chosen: Sequence[BenchModel]) -> float:
            pairs = zip(self.turns, chosen, strict=True)
            return world.rules.turns * sum(n / whole * each.cost for n, each in pairs)

        return split_at_price(picked, cost, _PLANNED * world.day_micro_usd)

    def choose_model(self, asked: Asked) -> tuple[str, float]:
        """Return each model in turn at first, then one by the plan."""
        if self.day != self.world.today:
            self.day, self.mix = self.world.today, self.plan()
        names, number = [each.name for each in self.world.models], self.asked[asked.task]
        self.asked[asked.task] += 1
        if self.sweeps and number < _TRIED * len(names):
            return names[number % len(names)], 1.0
        if self.chance.random() < self.explore:
            return self.chance.choice(names), 1.0
        return self.drawn(asked.task), 1.0

    sweeps = True

    def drawn(self, task: int) -> str:
        """Return a model by the shares of today's plan."""
        mix = (self.mix or self.plan())[task]
        return self.chance.choices(list(mix), list(mix.values()))[0]

    def gain(self, skill: BenchSkill, task: int) -> float:
        """Return what a skill is thought to add; only what is above 0 is given."""
        del task
        return -1.0 if skill.name in self.gone else 1.0

    def choose_skills(self, asked: Asked) -> tuple[list[BenchSkill], list[BenchSkill]]:
        """Return the most promising skills that fit."""
        fit = [self.world.skills[place] for place in asked.topic]
        gains = sorted(
            ((self.gain(skill, asked.task), skill.name, skill) for skill in fit), reverse=True
        )
        return [skill for gain, _, skill in gains if gain > 0][:FITTING], []

    def measured(self, skills: Sequence[BenchSkill]) -> tuple[str, ...]:
        """Return the names of all skills."""
        return tuple(skill.name for skill in skills)

    def learn(self, _day: int, seen: SimulatedDay) -> None:
        """Add the day's judged turns."""
        for turn in learning_rewards_of_turns(seen.signals, seen.opinions):
            task = TASK_TYPES.index(turn.signals.served[0].task_type)
            self.turns[task] += 1
            if turn.worth is not None:
                self.see(task, turn.signals.served[0].model, turn, turn.worth)
        self.close()

    def see(self, task: int, model: str, turn: JudgedTurn, worth: float) -> None:
        """Learn from one judged turn."""
        self.models[task, model].append(worth)
        for name in turn.signals.given:
            self.skills[name].append(worth)

    def close(self) -> None:
        """End a night."""
        every = [each for known in self.models.values() for each in known]
        mean = sum(every) / max(len(every), 1)
        for name, known in self.skills.items():
            if len(known) >= _LEAST and sum(known) / len(known) < mean:
                self.gone.add(name)


class EpsilonGreedy(Greedy):
    """Greedy with a random model in one of ten turns."""

    explore = 0.1


class Thompson(Greedy):
    """Each turn takes the best of a draw, at the price of money at which such a day is paid.

    Agrawal and Devanur, "Bandits with concave rewards and convex knapsacks", 2014.
    """

    sweeps, price = False, 0.0

    def draw(self, task: int, models: Sequence[BenchModel]) -> list[float]:
        """Return one draw of what each model is worth."""
        raise NotImplementedError

    def choose_model(self, asked: Asked) -> tuple[str, float]:
        """Return the model with the best draw at the day's price of money."""
        models = self.world.models
        if self.day != self.world.today:
            self.day, self.price = self.world.today, self.priced(models)
        return models[_best(self.draw(asked.task, models), models, self.price)].name, 1.0

    def priced(self, models: Sequence[BenchModel]) -> float:
        """Return the price of money at which a day of such draws is paid."""
        whole, limit = sum(self.turns), _PLANNED * self.world.day_micro_usd
        draws = [
            (self.turns[task] / whole / _DRAWS, self.draw(task, models))
            for task in range(TASKS)
            for _ in range(_DRAWS)
        ]
        return _price(draws, models, limit / self.world.rules.turns)


class BetaThompson(Thompson):
    """Thompson sampling with a Beta posterior for each task and model, and for each skill."""

    def __init__(self, world: BenchWorld) -> None:
        super().__init__(world)
        self.counts = defaultdict[tuple[object, ...], list[float]](lambda: [1.0, 1.0])

    def draw(self, task: int, models: Sequence[BenchModel]) -> list[float]:
        """Return a draw for each model."""
        return [self.chance.betavariate(*self.counts[task, each.name]) for each in models]

    def gain(self, skill: BenchSkill, task: int) -> float:
        """Return a draw of the difference between turns with a skill and without it."""
        del task
        return self.chance.betavariate(*self.counts[skill.name, True]) - self.chance.betavariate(
            *self.counts[skill.name, False]
        )

    def see(self, task: int, model: str, turn: JudgedTurn, worth: float) -> None:
        """Add a judged turn as a part of a success."""
        asked = self.topics.get(turn.signals.turn_id, ())
        keys: list[tuple[object, ...]] = [(task, model)]
        keys += [(name, name in turn.signals.given) for name in asked]
        for key in keys:
            self.counts[key][0] += worth
            self.counts[key][1] += 1 - worth

    def choose_skills(self, asked: Asked) -> tuple[list[BenchSkill], list[BenchSkill]]:
        """Remember what fitted, too."""
        self.topics[asked.id] = tuple(self.world.skills[place].name for place in asked.topic)
        return super().choose_skills(asked)

    topics: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - ids are unique

    def close(self) -> None:
        """Nothing is ever dropped."""


class LinearThompson(Thompson):
    """Linear Thompson sampling over task x model and skills, with a full Gaussian posterior."""

    sampled = 1.0
    noise, spread, effect = 0.4, 0.25, 0.15

    def __init__(self, world: BenchWorld) -> None:
        super().__init__(world)
        names = [f"{task}/vendor:model-{m + 1}" for task in range(TASKS) for m in range(5)]
        self.names = {name: n for n, name in enumerate([*names, *(x.name for x in world.skills)])}
        size, cells = len(self.names), len(names)
        scales = [self.spread] * cells + [self.effect] * (size - cells)
        self.matrix = [[0.0] * size for _ in range(size)]
        for place, scale in enumerate(scales):
            self.matrix[place][place] = scale**-2
        self.target = [0.5 / self.spread**2] * cells + [0.0] * (size - cells)
        self.solve()

    def solve(self) -> None:
        """Compute the posterior's factor and mean."""
        self.factor = _factor(self.matrix)
        self.mean = _back(self.factor, _ahead(self.factor, self.target))
        self.theta = self.mean

    def value(self, task: int, model: str) -> float:
        """Return the worth of a model in the parameters at hand."""
        return self.theta[self.names[f"{task}/{model}"]]

    def gain(self, skill: BenchSkill, task: int) -> float:
        """Return a skill's effect in the parameters at hand."""
        del task
        return self.theta[self.names[skill.name]]

    def drawn_parameters(self) -> list[float]:
        """Return a draw from the posterior."""
        noise = _back(self.factor, [self.chance.gauss(0, 1) for _ in self.mean])
        return [mean + each for mean, each in zip(self.mean, noise, strict=True)]

    def choose_skills(self, asked: Asked) -> tuple[list[BenchSkill], list[BenchSkill]]:
        """Draw parameters for the turn, and choose by them."""
        is_drawn = self.chance.random() < self.sampled
        self.theta = self.drawn_parameters() if is_drawn else self.mean
        return super().choose_skills(asked)

    def draw(self, task: int, models: Sequence[BenchModel]) -> list[float]:
        """Return what the parameters at hand say of each model."""
        return [self.value(task, each.name) for each in models]

    def priced(self, models: Sequence[BenchModel]) -> float:
        """Return the price of money, by draws as they will be made; and the plan of the mean."""
        if self.sampled == 1:
            theta, found = self.theta, 0.0
            whole, limit = sum(self.turns), _PLANNED * self.world.day_micro_usd
            draws = list[tuple[float, list[float]]]()
            for _ in range(_DRAWS):
                self.theta = self.drawn_parameters()
                draws += [
                    (self.turns[task] / whole / _DRAWS, self.draw(task, models))
                    for task in range(TASKS)
                ]
            found, self.theta = _price(draws, models, limit / self.world.rules.turns), theta
            return found
        theta, self.theta = self.theta, self.mean
        self.mix = self.plan()
        each = [(n / sum(self.turns), self.draw(task, models)) for task, n in enumerate(self.turns)]
        limit = _PLANNED * self.world.day_micro_usd / self.world.rules.turns
        found, self.theta = _price(each, models, limit), theta
        return found

    def choose_model(self, asked: Asked) -> tuple[str, float]:
        """Return the best model in the parameters drawn, or one by the plan of the mean."""
        chosen = super().choose_model(asked)
        if self.theta is self.mean and self.mix is not None:
            return self.drawn(asked.task), 1.0
        return chosen

    def see(self, task: int, model: str, turn: JudgedTurn, worth: float) -> None:
        """Add a turn to the normal equations."""
        places = [self.names[f"{task}/{model}"], *(self.names[x] for x in turn.signals.given)]
        for one in places:
            self.target[one] += worth / self.noise**2
            for other in places:
                self.matrix[one][other] += self.noise**-2

    def close(self) -> None:
        """Solve anew."""
        self.solve()


class LinearThompson20(LinearThompson):
    """The same, but only one of five turns draws."""

    sampled = 0.2


RULES = {
    "greedy": Greedy,
    "ε-greedy": EpsilonGreedy,
    "Beta Thompson": BetaThompson,
    "linear Thompson": LinearThompson,
    "linear 20 %": LinearThompson20,
}


def _best(values: Sequence[float], models: Sequence[BenchModel], price: float) -> int:
    priced = [value - price * each.cost for value, each in zip(values, models, strict=True)]
    return priced.index(max(priced))


def _price(
    draws: Sequence[tuple[float, list[float]]], models: Sequence[BenchModel], limit: float
) -> float:
    """Return the least price of money at which a turn costs no more than the limit."""

    def spent(price: float) -> float:
        return sum(share * models[_best(each, models, price)].cost for share, each in draws)

    if spent(0.0) <= limit:
        return 0.0
    low, high = 0.0, 1e-3
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > limit else (low, middle)
    return high


def _factor(matrix: list[list[float]]) -> list[list[float]]:
    found = list[list[float]]()
    for place, row in enumerate(matrix):
        line = list[float]()
        for other in range(place):
            done = sum(a * b for a, b in zip(line, found[other], strict=False))
            line.append((row[other] - done) / found[other][other])
        line.append(sqrt(row[place] - sum(a * a for a in line)))
        found.append(line)
    return found


def _ahead(factor: list[list[float]], values: Sequence[float]) -> list[float]:
    found = list[float]()
    for row, value in zip(factor, values, strict=True):
        done = sum(a * b for a, b in zip(row, found, strict=False))
        found.append((value - done) / row[-1])
    return found


def _back(factor: list[list[float]], values: Sequence[float]) -> list[float]:
    found = list(values)
    for place in range(len(found) - 1, -1, -1):
        found[place] /= factor[place][place]
        for other in range(place):
            found[other] -= factor[place][other] * found[place]
    return found
