"""Interface of a learning policy, and two baselines: greedy by mean reward, by self-grades.

The product's policy is compared with these two.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from opencrab.domain.learning.aggregate import learning_rewards_of_turns
from opencrab.domain.learning.reward import JudgedTurn, TurnOpinion
from opencrab.domain.learning.signals import TurnSignals
from opencrab.domain.learning.treatment_effect import SkillEffect, TrialVerdict
from opencrab.engine.simulation.learning.world import (
    FITTING,
    TASK_TYPES,
    LearningWorld,
    SimulatedQuestion,
    TrialSkill,
)

_TRIED, _LEAST = 5, 20


@dataclass
class SimulatedDay:
    """Observations of one day: signals, feedback and self-grades."""

    signals: list[TurnSignals] = field(default_factory=list)
    opinions: list[TurnOpinion] = field(default_factory=list)
    grades: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SkillDecision:
    """Verdict on a skill: day, reason, and the effect by which it was decided."""

    skill: str
    verdict: TrialVerdict
    reason: str
    day: int
    effect: SkillEffect
    only: tuple[str, ...] = ()


class SelectionRule(Protocol):
    """A policy that chooses models and skills, and learns each night."""

    def choose_model(self, asked: SimulatedQuestion) -> tuple[str, float]:
        """Return the model to call, and the probability with which it was chosen."""

    def choose_skills(self, asked: SimulatedQuestion) -> tuple[list[TrialSkill], list[TrialSkill]]:
        """Return the skills that the turn is given, and those withheld from it."""

    def measured_skills(self, skills: Iterable[TrialSkill]) -> tuple[str, ...]:
        """Return the names of those of these skills that the turn's signals record."""

    def learn_from_day(self, day: int, seen: SimulatedDay) -> None:
        """Learn from the observations of a day."""


def fitting_simulated_skills(
    world: LearningWorld,
    asked: SimulatedQuestion,
    live: Iterable[str],
    trying: Collection[str] = (),
) -> list[TrialSkill]:
    """Return the live skills that fit the question, at most FITTING; those on trial come last."""
    known = set(live)
    topic = (world.skills[place] for place in asked.topic)
    found = sorted(
        (skill for skill in topic if skill.name in known), key=lambda each: each.name in trying
    )
    return found[:FITTING]


class ByMean:
    """Greedy policy: always the model with the best mean reward; no exploration, no hold-out.

    Each model is first called 5 times per type of task. A skill is dropped after 20 turns if its
    mean is below that of all turns.
    """

    def __init__(self, world: LearningWorld) -> None:
        self.world = world
        self.live = [skill.name for skill in world.skills]
        self._models = defaultdict[tuple[int, str], list[float]](list)
        self._skills = defaultdict[str, list[float]](list)
        self._asked = defaultdict[int, int](int)

    def choose_model(self, asked: SimulatedQuestion) -> tuple[str, float]:
        """Return each model in turn at first, then the one with the best mean."""
        names = [model.name for model in self.world.models]
        number = self._asked[asked.task]
        self._asked[asked.task] += 1
        if number < _TRIED * len(names):
            return names[number % len(names)], 1.0
        return max(names, key=lambda name: _mean(self._models[asked.task, name])), 1.0

    def choose_skills(self, asked: SimulatedQuestion) -> tuple[list[TrialSkill], list[TrialSkill]]:
        """Return all live skills that fit; none is withheld."""
        return fitting_simulated_skills(self.world, asked, self.live), []

    def measured_skills(self, skills: Iterable[TrialSkill]) -> tuple[str, ...]:
        """Return the names of all skills."""
        return tuple(skill.name for skill in skills)

    def learn_from_day(self, _day: int, seen: SimulatedDay) -> None:
        """Add the values of the day's turns to the means, and drop skills below the mean."""
        for turn in learning_rewards_of_turns(seen.signals, seen.opinions):
            signals, value = turn.signals, self.value(turn, seen)
            if value is None:
                continue
            for served in signals.served:
                came_to = value if served.calls > served.failed else 0.0
                self._models[TASK_TYPES.index(served.task_type), served.model].append(came_to)
            for skill in signals.given:
                self._skills[skill].append(value)
        known = [each for values in self._models.values() for each in values]
        self.live = [
            name
            for name in self.live
            if len(self._skills[name]) < _LEAST or _mean(self._skills[name]) >= _mean(known)
        ]

    def value(self, turn: JudgedTurn, _seen: SimulatedDay) -> float | None:
        """Return the value of a turn by objective signals, None if unknown."""
        return turn.worth


class BySelfGrade(ByMean):
    """The greedy policy with the model's own grade as the value of a turn."""

    def value(self, turn: JudgedTurn, seen: SimulatedDay) -> float | None:
        """Return the model's grade of its answer, None if there is none."""
        return seen.grades.get(simulated_row_id(turn.signals))


def simulated_row_id(signals: TurnSignals) -> str:
    """Return the metrics id of a turn's only call."""
    return f"{signals.at:%Y%m%dT%H%M%S.%fZ}-{signals.turn_id}-0001"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
