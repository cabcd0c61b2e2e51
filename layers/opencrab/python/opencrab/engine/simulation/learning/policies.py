"""School rules: how models and skills are chosen in a made-up world, and two ways to learn that.

They are those that ours is compared with: by the best mean so far, and by self-grades.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from opencrab.domain.learning.aggregate import JudgedTurn, judged_turns
from opencrab.domain.learning.reward import TurnOpinion
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
    """What a day let be seen."""

    signals: list[TurnSignals] = field(default_factory=list)
    opinions: list[TurnOpinion] = field(default_factory=list)
    grades: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SkillDecision:
    """What became of a skill on a day, on how many judged turns, and why."""

    skill: str
    verdict: TrialVerdict
    reason: str
    day: int
    effect: SkillEffect


class SelectionRule(Protocol):
    """A way to choose models and skills, and to learn each night."""

    def model(self, asked: SimulatedQuestion) -> tuple[str, float]:
        """The model that is asked, and how likely that was."""

    def skills(self, asked: SimulatedQuestion) -> tuple[list[TrialSkill], list[TrialSkill]]:
        """Skills that the turn is given, and those that are withheld from it."""

    def measured(self, skills: Iterable[TrialSkill]) -> tuple[str, ...]:
        """Those of these skills of which a turn tells."""

    def night(self, day: int, seen: SimulatedDay) -> None:
        """Learn from a day."""


def fitting_skills(
    world: LearningWorld,
    asked: SimulatedQuestion,
    live: Iterable[str],
    trying: Collection[str] = (),
) -> list[TrialSkill]:
    """The skills that fit, of those that are shown at all; those on trial come last."""
    known = set(live)
    topic = (world.skills[place] for place in asked.topic)
    found = sorted(
        (skill for skill in topic if skill.name in known), key=lambda each: each.name in trying
    )
    return found[:FITTING]


class ByMean:
    """Always what had the best mean so far: nothing is tried out again, nothing is withheld.

    Each model is asked a few times at first. A skill whose turns came out below the mean of all
    turns is dropped.
    """

    def __init__(self, world: LearningWorld) -> None:
        self.world = world
        self.live = [skill.name for skill in world.skills]
        self._models = defaultdict[tuple[int, str], list[float]](list)
        self._skills = defaultdict[str, list[float]](list)
        self._asked = defaultdict[int, int](int)

    def model(self, asked: SimulatedQuestion) -> tuple[str, float]:
        """Each in turn at first, then the one with the best mean."""
        names = [model.name for model in self.world.models]
        number = self._asked[asked.task]
        self._asked[asked.task] += 1
        if number < _TRIED * len(names):
            return names[number % len(names)], 1.0
        return max(names, key=lambda name: _mean(self._models[asked.task, name])), 1.0

    def skills(self, asked: SimulatedQuestion) -> tuple[list[TrialSkill], list[TrialSkill]]:
        """All that fit."""
        return fitting_skills(self.world, asked, self.live), []

    def measured(self, skills: Iterable[TrialSkill]) -> tuple[str, ...]:
        """All of them."""
        return tuple(skill.name for skill in skills)

    def night(self, _day: int, seen: SimulatedDay) -> None:
        """Add up what turns were worth."""
        for turn in judged_turns(seen.signals, seen.opinions):
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
        """What a turn counts as: its worth by objective signals."""
        return turn.worth


class BySelfGrade(ByMean):
    """The same, but a turn counts as what its model says of it."""

    def value(self, turn: JudgedTurn, seen: SimulatedDay) -> float | None:
        """The grade; None where there is none."""
        return seen.grades.get(simulated_row_id(turn.signals))


def simulated_row_id(signals: TurnSignals) -> str:
    """The metrics id of a turn's only call."""
    return f"{signals.at:%Y%m%dT%H%M%S.%fZ}-{signals.turn_id}-0001"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
