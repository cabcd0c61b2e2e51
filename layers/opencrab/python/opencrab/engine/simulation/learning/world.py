"""School world: made-up models, skills and people whose truth is known, the same for a seed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from random import Random

from opencrab.domain.learning.reward import TurnOpinion, turn_reward
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.turn.turn import Trigger, TurnStatus

START = datetime(2026, 1, 5, tzinfo=UTC)
TASK_TYPES = ("chat", "code", "search")
HELPFUL, HARMFUL, IDLE = 5, 5, 10
FITTING = 2
"""Skills that a turn is given at most, as everywhere."""

OPINIONS, OUTCOMES, ACTIONS, CORRECTIONS = 0.3, 0.25, 0.35, 0.12
"""How often a turn has an opinion, a task's outcome, actions, and, if it failed, a correction."""

BUSY = 0.3
"""How much more often models act where they are given some of the skills, good or bad."""

MOST_ACTIONS = 3
MOST_FAILURES = 0.08
GRADED = 0.4
_TOPIC, _STEPS = 5, 200
_WORST, _BEST = 0.02, 0.98
_DEAREST_FACTOR = 1.5


@dataclass(frozen=True)
class TrialModel:
    """A model as it truly is: quality by type of task, micro-dollars and milliseconds a turn.

    In a share of turns it `fails` to answer, and another one does.
    """

    name: str
    quality: tuple[float, ...]
    cost: int
    latency_ms: int
    flattery: float
    fails: float

    @property
    def bound(self) -> int:
        """The most that a turn with it costs: what is set aside before it."""
        return int(self.cost * _DEAREST_FACTOR)


@dataclass(frozen=True)
class TrialSkill:
    """A skill and what it truly adds to the quality of a turn that is given it.

    It may also make models act more often; that is no merit.
    """

    name: str
    effect: float
    busy: float

    @property
    def kind(self) -> str:
        """Whether it helps, harms or does nothing."""
        return "helpful" if self.effect > 0 else "harmful" if self.effect < 0 else "idle"


@dataclass(frozen=True)
class SimulatedQuestion:
    """What somebody asks, and all chance that plays a part in how it goes, whoever answers."""

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
    """Five models, three types of task and twenty skills; the day's money is short."""

    seed: int
    models: tuple[TrialModel, ...]
    skills: tuple[TrialSkill, ...]
    shares: tuple[float, ...]
    turns: int
    day_micro_usd: int
    lying: bool

    @property
    def cheapest(self) -> TrialModel:
        """The model that costs least; it answers where another one does not."""
        return min(self.models, key=lambda each: each.cost)

    def expected(self, model: TrialModel, quality: Callable[[TrialModel], float]) -> float:
        """The quality of a turn for which a model is asked, with those who stand in for it."""
        return (1 - model.fails) * quality(model) + model.fails * quality(self.cheapest)

    def day(self, day: int) -> Iterator[SimulatedQuestion]:
        """What is asked on a day."""
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
        """How probable it is that each sign of a turn is a good one."""
        whole = model.quality[asked.task] + sum(skill.effect for skill in skills) - less
        return min(max(whole, _WORST), _BEST)

    def grade(self, model: TrialModel, asked: SimulatedQuestion, quality: float) -> float:
        """What a model says of its own answer: it flatters itself, some models more than others.

        Where grades lie they always praise, and the worse the answer is the more.
        """
        said = 0.99 - 0.2 * quality if self.lying else 0.68 + 0.15 * quality + model.flattery
        return min(max(said + asked.mood * (0.3 if self.lying else 1.0), 0.0), 1.0)


def learning_world(seed: int, *, turns: int, lying: bool = False) -> LearningWorld:
    """The world of a seed."""
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
    """Who and what had a part in a turn."""

    served: tuple[ServedCalls, ...]
    given: tuple[str, ...]
    held: tuple[str, ...]
    corrects: str
    acts: float


def simulated_signals(
    asked: SimulatedQuestion, quality: float, part: TurnInputs
) -> tuple[TurnSignals, tuple[TurnOpinion, ...], bool]:
    """What an answered question lets be seen, and whether the next message corrects it.

    Signals are made without being checked: there are very many.
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
    """How often turns of a quality are judged at all, and what they are worth then on average.

    `acts` is how often models act in them; effects of skills are measured as if they never did.
    That is the truth that measuring can find. It lies a little below the quality, since what goes
    wrong is corrected aloud, and what goes right is not.
    """
    judged, value = _judgement_table(round(acts, 3))[round(quality * _STEPS)]
    return judged, value


def action_rate_with_skills(skills: Sequence[TrialSkill]) -> float:
    """How often models act in turns that are given skills."""
    return ACTIONS + sum(skill.busy for skill in skills)


@lru_cache(maxsize=8)
def _judgement_table(acts: float) -> tuple[tuple[float, float], ...]:
    return tuple(_expected_judgement(step / _STEPS, acts) for step in range(_STEPS + 1))


def _expected_judgement(quality: float, acts: float) -> tuple[float, float]:
    """The mean over everything that can be seen of a turn, by the product's own judgement."""
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
        value = turn_reward(signals, said, corrected=corrected, repeated=False)
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
