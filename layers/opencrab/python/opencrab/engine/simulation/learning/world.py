"""Simulated environment: models, skills and questions with known true effects, fixed by a seed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from random import Random

from opencrab.domain.learning.reward import TurnOpinion, judge_turn
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.turn.turn import Trigger, TurnStatus

START = datetime(2026, 1, 5, tzinfo=UTC)
TASK_TYPES = ("chat", "code", "search")
HELPFUL, HARMFUL, IDLE = 5, 5, 10
FITTING = 2
"""Most skills that a turn is given, as in the product."""

OPINIONS, OUTCOMES, ACTIONS, CORRECTIONS = 0.3, 0.25, 0.35, 0.12
"""Probabilities that a turn has feedback, an outcome, actions and, if it failed, a correction."""

BUSY = 0.3
"""Increase of the probability of actions by some of the skills, helpful or not."""

MOST_ACTIONS = 3
MOST_FAILURES = 0.08
GRADED = 0.4
_TOPIC, _STEPS = 5, 200
_WORST, _BEST = 0.02, 0.98
_DEAREST_FACTOR = 1.5


@dataclass(frozen=True)
class TrialModel:
    """A model's true quality by type of task, micro-dollars and milliseconds per turn.

    `fails` is the share of turns in which it does not answer and the cheapest model does.
    """

    name: str
    quality: tuple[float, ...]
    cost: int
    latency_ms: int
    flattery: float
    fails: float

    @property
    def bound(self) -> int:
        """Upper bound of a turn's cost in micro-dollars, reserved before the call."""
        return int(self.cost * _DEAREST_FACTOR)


@dataclass(frozen=True)
class TrialSkill:
    """A skill and its true effect on the quality of a turn that is given it.

    `busy` is how much more often models act with it, which has no effect on quality.
    """

    name: str
    effect: float
    busy: float

    @property
    def kind(self) -> str:
        """Kind of the true effect: helpful, harmful or idle."""
        return "helpful" if self.effect > 0 else "harmful" if self.effect < 0 else "idle"


@dataclass(frozen=True)
class SimulatedQuestion:
    """A question and all random numbers of its turn, the same for every policy."""

    id: str
    at: datetime
    task: int
    topic: tuple[int, ...]
    has_opinion: bool
    has_outcome: bool
    acting: float
    actions: int
    failing: float
    is_graded: bool
    luck: tuple[float, ...]
    cost_factor: float
    mood: float


@dataclass(frozen=True)
class LearningWorld:
    """Five models, three types of task and twenty skills, with a scarce daily budget."""

    seed: int
    models: tuple[TrialModel, ...]
    skills: tuple[TrialSkill, ...]
    shares: tuple[float, ...]
    turns: int
    day_micro_usd: int
    lying: bool

    @property
    def cheapest(self) -> TrialModel:
        """The cheapest model, which answers if another one fails."""
        return min(self.models, key=lambda each: each.cost)

    def expected_quality(self, model: TrialModel, quality: Callable[[TrialModel], float]) -> float:
        """Return the expected value of `quality`, with the fallback if the model fails."""
        return (1 - model.fails) * quality(model) + model.fails * quality(self.cheapest)

    def day(self, day: int) -> Iterator[SimulatedQuestion]:
        """Yield the questions of a day."""
        chance = Random(f"{self.seed}/{day}")  # noqa: S311 - the same day each time
        for number in range(self.turns):
            yield _random_question(self, chance, day, number)

    def quality(
        self,
        model: TrialModel,
        asked: SimulatedQuestion,
        skills: Sequence[TrialSkill],
        less: float = 0,
    ) -> float:
        """Return the probability that a signal of the turn is positive, from 0.02 to 0.98."""
        whole = model.quality[asked.task] + sum(skill.effect for skill in skills) - less
        return min(max(whole, _WORST), _BEST)

    def grade(self, model: TrialModel, asked: SimulatedQuestion, quality: float) -> float:
        """Return a model's grade of its own answer, 0 to 1, biased upwards by its `flattery`.

        If `lying`, grades are high for every answer, and higher for worse ones.
        """
        said = 0.99 - 0.2 * quality if self.lying else 0.68 + 0.15 * quality + model.flattery
        return min(max(said + asked.mood * (0.3 if self.lying else 1.0), 0.0), 1.0)


def simulated_learning_environment(seed: int, *, turns: int, lying: bool = False) -> LearningWorld:
    """Create the environment of a seed."""
    chance = Random(f"world/{seed}")  # noqa: S311 - the same world each time
    tiers = ((150, 900), (700, 1_200), (2_500, 2_000), (7_000, 3_500), (20_000, 6_000))
    bases = (0.42, 0.5, 0.57, 0.63, 0.7)
    models = tuple(
        TrialModel(
            name=f"vendor:model-{place + 1}",
            quality=tuple(base + ease + chance.gauss(0, 0.06) for ease in (0.05, -0.04, 0.0)),
            cost=int(cost * chance.uniform(0.8, 1.25)),
            latency_ms=int(latency * chance.uniform(0.8, 1.25)),
            flattery=chance.uniform(0, 0.12),
            fails=chance.uniform(0, MOST_FAILURES) if place else 0.0,
        )
        for place, (base, (cost, latency)) in enumerate(zip(bases, tiers, strict=True))
    )
    signs = [1] * HELPFUL + [-1] * HARMFUL + [0] * IDLE
    chance.shuffle(signs)
    skills = tuple(
        TrialSkill(
            name=f"skill-{place + 1:02d}",
            effect=sign * chance.uniform(0.12, 0.25),
            busy=chance.choice((0.0, BUSY)),
        )
        for place, sign in enumerate(signs)
    )
    dearest = max(model.cost for model in models)
    return LearningWorld(
        seed=seed,
        models=models,
        skills=skills,
        shares=(0.4, 0.3, 0.3),
        turns=turns,
        day_micro_usd=int(turns * dearest * chance.uniform(0.2, 0.4)),
        lying=lying,
    )


@dataclass(frozen=True)
class TurnInputs:
    """The models and skills that took part in a turn, and how likely it acts."""

    served: tuple[ServedCalls, ...]
    given: tuple[str, ...]
    held: tuple[str, ...]
    corrects: str
    acts: float


def simulated_turn_signals(
    asked: SimulatedQuestion, quality: float, part: TurnInputs
) -> tuple[TurnSignals, tuple[TurnOpinion, ...], bool]:
    """Return an answered question's signals and feedback, and whether it will be corrected.

    Signals are built without validation for speed.
    """
    luck = asked.luck
    tried = asked.actions if asked.acting < part.acts else 0
    done = sum(each < quality for each in luck[3 : 3 + tried])
    opinions = (_opinion(asked.id, up=luck[0] < quality),) if asked.has_opinion else ()
    signals = TurnSignals.model_construct(
        turn_id=asked.id,
        session_id="school",
        at=asked.at,
        trigger=Trigger.MESSAGE,
        status=TurnStatus.COMPLETED,
        served=part.served,
        given=part.given,
        held=part.held,
        corrects=part.corrects,
        task_success=luck[1] < quality if asked.has_outcome else None,
        done=done,
        undone=tried - done,
        spoke=True,
    )
    return signals, opinions, luck[2] > 1 - CORRECTIONS * (1 - quality)


def simulated_judgement_rates(quality: float, acts: float) -> tuple[float, float]:
    """Return the probability that a turn is judged, and its expected value if it is.

    `acts` is how often models act in it; true effects of skills are computed with 0. This expected
    value is what an unbiased measurement converges to. It is a little below the quality, since only
    failures are corrected.
    """
    judged, value = _judgement_table(round(acts, 3))[round(quality * _STEPS)]
    return judged, value


def simulated_action_rate_with_skills(skills: Sequence[TrialSkill]) -> float:
    """Return how often models act in turns that are given these skills."""
    return ACTIONS + sum(skill.busy for skill in skills)


@lru_cache(maxsize=8)
def _judgement_table(acts: float) -> tuple[tuple[float, float], ...]:
    return tuple(_expected_judgement(step / _STEPS, acts) for step in range(_STEPS + 1))


def _expected_judgement(quality: float, acts: float) -> tuple[float, float]:
    """Return the probability of a judgement and its mean over all possible signals."""
    judged = total = 0.0
    for (opinion, outcome, actions, corrected), value in _judgements():
        chance = (
            _two(OPINIONS, quality, good=opinion)
            * _two(OUTCOMES, quality, good=outcome)
            * _binomial(actions, quality, acts)
            * _correction_chance(quality, is_so=corrected)
        )
        judged += chance
        total += chance * value
    return judged, total / judged


@cache
def _judgements() -> tuple[
    tuple[tuple[bool | None, bool | None, tuple[int, int], bool], float], ...
]:
    two = (None, False, True)
    actions = ((0, 0), *((k, done) for k in range(1, MOST_ACTIONS + 1) for done in range(k + 1)))
    found = []
    for opinion, outcome, (tried, done), corrected in product(two, two, actions, (False, True)):
        signals = TurnSignals(
            turn_id="t",
            session_id="s",
            at=START,
            trigger=Trigger.MESSAGE,
            status=TurnStatus.COMPLETED,
            task_success=outcome,
            done=done,
            undone=tried - done,
        )
        said = [] if opinion is None else [_opinion("t", up=opinion)]
        value = judge_turn(signals, said, corrected=corrected).worth
        if value is not None:
            found.append(((opinion, outcome, (tried, done), corrected), value))
    return tuple(found)


def _opinion(turn_id: str, *, up: bool) -> TurnOpinion:
    return TurnOpinion(turn_id=turn_id, up=up, at=START)


def _two(often: float, quality: float, *, good: bool | None) -> float:
    if good is None:
        return 1 - often
    return often * (quality if good else 1 - quality)


def _binomial(actions: tuple[int, int], quality: float, acts: float) -> float:
    tried, done = actions
    if not tried:
        return 1 - acts
    ways = {0: 1, tried: 1}.get(done, tried)
    return acts / MOST_ACTIONS * ways * quality**done * (1 - quality) ** (tried - done)


def _correction_chance(quality: float, *, is_so: bool) -> float:
    chance = CORRECTIONS * (1 - quality)
    return chance if is_so else 1 - chance


def _random_question(
    world: LearningWorld, chance: Random, day: int, number: int
) -> SimulatedQuestion:
    task = chance.choices(range(len(TASK_TYPES)), world.shares)[0]
    topic = tuple(chance.sample(range(len(world.skills)), _TOPIC))
    return SimulatedQuestion(
        id=f"{world.seed}.{day}.{number}",
        at=START + timedelta(days=day, seconds=number),
        task=task,
        topic=topic,
        has_opinion=chance.random() < OPINIONS,
        has_outcome=chance.random() < OUTCOMES,
        acting=chance.random(),
        actions=chance.randint(1, MOST_ACTIONS),
        failing=chance.random(),
        is_graded=chance.random() < GRADED,
        luck=tuple(chance.random() for _ in range(3 + MOST_ACTIONS)),
        cost_factor=chance.uniform(2 - _DEAREST_FACTOR, _DEAREST_FACTOR),
        mood=chance.gauss(0, 0.1),
    )
