"""Eight families of made-up worlds with different assumptions, each fixed by its name and a seed.

A world has five models, three types of task and twenty skills whose true effects are known. They
differ in what a learner may not assume: see `FAMILIES`. Seeds below `SEALED` are for tuning.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import exp, log
from random import Random

from opencrab.domain.learning.reward import TurnOpinion
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.turn.turn import Trigger, TurnStatus

START = datetime(2026, 1, 5, tzinfo=UTC)
SEALED = 1_000
TASKS, SKILLS, FITTING = 3, 20, 2
_BASES, _TIERS = (0.42, 0.5, 0.57, 0.63, 0.7), (150, 700, 2_500, 7_000, 20_000)
_LOGIT = 4.5
_DEAREST = 1.5


@dataclass(frozen=True)
class Family:
    """What a family of worlds assumes.

    `helps_one` helpful skills of five help in one type of task only. Opinions are given in `said`
    of good and of bad turns, and `inverted` of them say the opposite. With `logit` effects add on
    the log-odds scale, with `drift` qualities walk by this a day. With `changes` a good model comes
    on day 20 and two prices change. With `pairs` neighbouring skills fit the same turns. `heavy`
    costs have a heavy tail.
    """

    turns: int = 100
    shares: tuple[float, ...] = (0.4, 0.3, 0.3)
    helps_one: int = 0
    said: tuple[float, float] = (0.3, 0.3)
    inverted: float = 0.0
    logit: bool = False
    drift: float = 0.0
    runs: bool = False
    changes: bool = False
    pairs: bool = False
    heavy: bool = False


FAMILIES = {
    "own": Family(),
    "independent": Family(
        helps_one=3, said=(0.2, 0.4), inverted=0.05, logit=True, drift=0.012, runs=True
    ),
    "few turns": Family(turns=12, helps_one=2),
    "dominant task": Family(shares=(0.88, 0.06, 0.06), helps_one=2),
    "changing": Family(helps_one=2, drift=0.012, changes=True),
    "adversarial": Family(inverted=0.25),
    "heavy costs": Family(heavy=True),
    "correlated": Family(helps_one=2, pairs=True),
}


@dataclass(frozen=True)
class BenchModel:
    """A model with its price a turn (micro-dollars)."""

    place: int
    name: str
    cost: int


@dataclass(frozen=True)
class BenchSkill:
    """A skill and its true effect in each type of task."""

    name: str
    effects: tuple[float, ...]

    @property
    def kind(self) -> str:
        """What is true of it: helpful, helps one, harmful or idle."""
        if min(self.effects) < 0:
            return "harmful"
        good = sum(each > 0 for each in self.effects)
        return ("idle", "helps one", "", "helpful")[good]


@dataclass(frozen=True)
class Asked:
    """A question and all chance of its turn, the same for every learner."""

    id: str
    at: datetime
    task: int
    topic: tuple[int, ...]
    luck: tuple[float, ...]
    acts: int
    cost_factor: float


@dataclass
class BenchWorld:
    """One world on one day; `day` moves it on."""

    family: str
    seed: int
    skills: tuple[BenchSkill, ...] = ()
    day_micro_usd: int = 0
    today: int = 0
    costs: list[int] = field(default_factory=list)
    base: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        chance = self._chance("world")
        self.rules = FAMILIES[self.family]
        self.base = [
            [base + ease + chance.gauss(0, 0.06) for ease in (0.05, -0.04, 0.0)] for base in _BASES
        ]
        self.costs = [int(cost * chance.uniform(0.8, 1.25)) for cost in _TIERS]
        signs = [1] * 5 + [-1] * 5 + [0] * 10
        chance.shuffle(signs)
        ones, found = self.rules.helps_one, list[BenchSkill]()
        for place, sign in enumerate(signs):
            effects = [sign * chance.uniform(0.12, 0.25)] * TASKS
            if sign > 0 and ones:
                kept, ones = chance.randrange(TASKS), ones - 1
                if self.rules.shares[0] > 0.5:
                    kept = 0
                effects = [each * (task == kept) for task, each in enumerate(effects)]
            found.append(BenchSkill(f"skill-{place + 1:02d}", tuple(effects)))
        self.skills = tuple(found)
        room = chance.uniform(0.2, 0.4)
        self.day_micro_usd = int(self.rules.turns * max(self.costs) * room)

    def _chance(self, about: str) -> Random:
        return Random(f"{self.family}/{self.seed}/{about}")  # noqa: S311 - the same each time

    @property
    def models(self) -> tuple[BenchModel, ...]:
        """The models there are today, at today's prices."""
        costs = list(self.costs)
        if self.rules.changes:
            costs[4] = int(costs[4] * (0.4 if self.today >= 30 else 1))
            costs[1] *= 3 if self.today >= 40 else 1
        return tuple(
            BenchModel(place, f"vendor:model-{place + 1}", cost)
            for place, cost in enumerate(costs)
            if not (self.rules.changes and place == 3 and self.today < 20)
        )

    def questions(self, day: int) -> Iterator[Asked]:
        """Move on to a day, and yield its questions."""
        chance, self.today = self._chance(f"day {day}"), day
        for row in self.base:
            for task in range(TASKS):
                row[task] += chance.gauss(0, 1) * self.rules.drift
        task = left = 0
        for number in range(self.rules.turns):
            if not self.rules.runs or left <= 0:
                task = chance.choices(range(TASKS), self.rules.shares)[0]
                left = 1 + int(log(max(chance.random(), 1e-9)) / log(0.85))
            left -= 1
            factor = chance.uniform(2 - _DEAREST, _DEAREST)
            if self.rules.heavy:
                factor = min(0.1 + 0.5 * (chance.paretovariate(1.5) - 1), 8.0)
            yield Asked(
                id=f"{self.seed}.{day}.{number}",
                at=START + timedelta(days=day, seconds=number),
                task=task,
                topic=tuple(self._topic(chance)),
                luck=tuple(chance.random() for _ in range(12)),
                acts=chance.randint(1, 3),
                cost_factor=factor,
            )

    def _topic(self, chance: Random) -> list[int]:
        if not self.rules.pairs:
            return chance.sample(range(SKILLS), 5)
        first = 5 * chance.randrange(4)
        near = [place for place in range(first, first + 5) if chance.random() > 0.15]
        others = [place for place in range(SKILLS) if place not in near]
        return [*near, *chance.sample(others, 5 - len(near))]

    def quality(self, model: BenchModel, asked: Asked, skills: Sequence[BenchSkill]) -> float:
        """Return the probability that a signal of the turn is good."""
        base = min(max(self.base[model.place][asked.task], 0.03), 0.97)
        effect = sum(skill.effects[asked.task] for skill in skills)
        if self.rules.logit:
            return 1 / (1 + exp(-log(base / (1 - base)) - _LOGIT * effect))
        return min(max(base + effect, 0.02), 0.98)

    def observe(
        self,
        asked: Asked,
        quality: float,
        served: tuple[ServedCalls, ...],
        skills: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> tuple[TurnSignals, tuple[TurnOpinion, ...]]:
        """Return what can be seen of an answered question; `skills` are those given and held."""
        luck, rules = asked.luck, self.rules
        up = (luck[0] < quality) != (luck[5] < rules.inverted)
        opinions = (
            (TurnOpinion(turn_id=asked.id, up=up, at=asked.at),)
            if luck[1] < rules.said[not up]
            else ()
        )
        tried = asked.acts if luck[3] < 0.35 else 0
        done = sum(each < quality for each in luck[7 : 7 + tried])
        signals = TurnSignals.model_construct(
            turn_id=asked.id,
            session_id="bench",
            at=asked.at,
            trigger=Trigger.MESSAGE,
            status=TurnStatus.COMPLETED,
            served=served,
            given=skills[0],
            held=skills[1],
            task_success=luck[6] < quality if luck[2] < 0.25 else None,
            done=done,
            undone=tried - done,
            spoke=True,
        )
        return signals, opinions

    def best_mix(self) -> dict[int, dict[str, float]]:
        """Return the best shares of models by type of task within today's budget."""
        models = self.models

        def picked(price: float) -> list[BenchModel]:
            return [
                max(models, key=lambda each: self.base[each.place][task] - price * each.cost)
                for task in range(TASKS)
            ]

        def cost(chosen: Sequence[BenchModel]) -> float:
            pairs = zip(self.rules.shares, chosen, strict=True)
            return self.rules.turns * sum(share * each.cost for share, each in pairs)

        return split_at_price(picked, cost, self.day_micro_usd)


def split_at_price(
    picked: Callable[[float], list[BenchModel]],
    cost: Callable[[Sequence[BenchModel]], float],
    budget: float,
) -> dict[int, dict[str, float]]:
    """Return the shares at the lowest price of money at which the day can be paid."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(picked(middle)) > budget else (low, middle)
    dear, cheap = picked(low), picked(high)
    room = cost(dear) - cost(cheap)
    share = min(max((budget - cost(cheap)) / room, 0.0), 1.0) if room > 0 else 1.0
    found = dict[int, dict[str, float]]()
    for task, (one, other) in enumerate(zip(dear, cheap, strict=True)):
        found[task] = {one.name: 1.0} if one is other else {one.name: share, other.name: 1 - share}
    return found
