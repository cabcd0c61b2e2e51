"""School rules: three ways to learn which models and skills are good; the first one is ours."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from opencrab.domain.adjusting import (
    adjustment_id,
    alike,
    ended,
    mix_of,
    mixed_as,
    telling,
    top,
)
from opencrab.domain.adjustment import Adjustment, AdjustmentKind, AdjustmentState
from opencrab.domain.aim import Aim, Leave, Wish
from opencrab.domain.calibration import supported
from opencrab.domain.choosing import HELD, fell_since, then_of
from opencrab.domain.coin import drawn
from opencrab.domain.effect import Effect, Verdict, effect, verdict
from opencrab.domain.evidence import Evidence, ModelEvidence
from opencrab.domain.gathering import Judged, gathered, judged_turns
from opencrab.domain.interval import Sums
from opencrab.domain.judging import Opinion
from opencrab.domain.mind import Mind
from opencrab.domain.mix import Mix
from opencrab.domain.mixing import Arm, Mixed, Subject, mixes
from opencrab.domain.routing import Use
from opencrab.domain.signals import Signals
from opencrab.domain.skill import IndexedSkill
from opencrab.domain.skill_trial import withheld
from opencrab.domain.trials import Trials
from opencrab.engine.school_world import FITTING, START, TASK_TYPES, Asked, Skill, World

TRIALS = Trials()
AIM = Aim(leave=Leave.APPLY, goal=Wish.MAXIMIZE_QUALITY, min_quality=0.4, explore=0.2)
USE = Use.CONVERSATION
FIRST_MODEL = 2
"""The model that everybody asks before anything is known: the middle one."""

WATCHED = timedelta(days=14)
"""How long after a change its quality may take it back."""

_TRIED, _LEAST = 5, 20


@dataclass
class Day:
    """What a day let be seen."""

    signals: list[Signals] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    grades: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What became of a skill on a day, on how many judged turns, and why."""

    skill: str
    verdict: Verdict
    reason: str
    day: int
    effect: Effect


class Rule(Protocol):
    """A way to choose models and skills, and to learn each night."""

    def model(self, asked: Asked) -> tuple[str, float]:
        """The model that is asked, and how likely that was."""

    def skills(self, asked: Asked) -> tuple[list[Skill], list[Skill]]:
        """Skills that the turn is given, and those that are withheld from it."""

    def night(self, day: int, seen: Day) -> None:
        """Learn from a day."""


def fitting(world: World, asked: Asked, live: Iterable[str]) -> list[Skill]:
    """The skills that fit, of those that are shown at all."""
    known = set(live)
    topic = (world.skills[place] for place in asked.topic)
    return [skill for skill in topic if skill.name in known][:FITTING]


class Ours:
    """What the product does each night, by the product's own functions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.mind = Mind()
        self.evidence = Evidence()
        self.decisions: list[Decision] = []
        self.adjustments: list[Adjustment] = []
        self._waiting = [skill.name for skill in world.skills]
        self._changed: dict[str, Sums] = {}
        self._fill()

    def model(self, asked: Asked) -> tuple[str, float]:
        """Drawn from the mix, as a turn draws its lot."""
        mix = mix_of(self.mind, _name(asked.task))
        if mix is None:
            return self.world.models[FIRST_MODEL].name, 1.0
        model = drawn(mix.weights, "model", asked.id, mix.subject)
        return model, mix.weights[model] / sum(mix.weights.values())

    def skills(self, asked: Asked) -> tuple[list[Skill], list[Skill]]:
        """Those that fit; a withheld one leaves its place empty."""
        fit = fitting(self.world, asked, (skill.name for skill in self.mind.skills))
        resting = withheld(self.mind, asked.id, TRIALS.skill_percent)
        return (
            [skill for skill in fit if skill.name not in resting],
            [skill for skill in fit if skill.name in resting],
        )

    def on_trial(self) -> list[str]:
        """The skills that are on trial now."""
        return [skill.name for skill in self.mind.skills if skill.on_trial]

    def night(self, day: int, seen: Day) -> None:
        """Fold the day, take back what fell, decide on skills, and mix anew."""
        self.evidence += gathered(seen.signals, seen.opinions, seen.grades)
        self._decide(day)
        self._fill()
        self._mix(day, self._take_back(day))

    def known(self, task: int, model: str) -> ModelEvidence:
        """What is known of a model for a type of task, as far as it still holds."""
        key = f"{_name(task)}/{model}"
        found = self.evidence.models.get(key, ModelEvidence())
        stale = self._changed.get(key)
        return found if stale is None else found.replaced(quality=found.quality.since(stale))

    def _decide(self, day: int) -> None:
        for name in self.on_trial():
            found = effect(self.evidence, name)
            what, why = verdict(found, TRIALS)
            if what is Verdict.KEEP:
                continue
            others = [each for each in self.mind.skills if each.name != name]
            if what is Verdict.PROMOTE:
                others.append(_indexed(name, on_trial=False))
            self.mind = self.mind.replaced(skills=tuple(others))
            self.decisions.append(
                Decision(skill=name, verdict=what, reason=why, day=day, effect=found)
            )

    def _fill(self) -> None:
        free = TRIALS.candidates - len(self.on_trial())
        begun, self._waiting = self._waiting[:free], self._waiting[free:]
        more = tuple(_indexed(name, on_trial=True) for name in begun)
        self.mind = self.mind.replaced(skills=(*self.mind.skills, *more))

    def _mix(self, day: int, fallen: set[str]) -> None:
        subjects = {
            _name(task): Subject(
                arms=tuple(self._arm(task, model.name) for model in self.world.models),
                turns_a_day=self._turns(task) / (day + 1),
                current=self._current(_name(task)),
            )
            for task in range(len(TASK_TYPES))
            if _name(task) not in fallen
        }
        seed = f"{self.world.seed}/{day}"
        found = mixes(subjects, AIM, day_micro_usd=self.world.day_micro_usd, seed=seed)
        for name, (mixed, _) in found.items():
            if mixed is not None:
                self._apply(day, name, mixed)

    def _apply(self, day: int, name: str, mixed: Mixed) -> None:
        before = telling(mix_of(self.mind, name))
        after = telling(Mix(purpose=USE, task_type=name.partition("/")[2], weights=mixed.weights))
        at = START + timedelta(days=day + 1)
        if alike(before, after) or self._holds(name, after, at):
            return
        self.mind = mixed_as(self.mind, name, after)
        self.adjustments = [
            ended(each, AdjustmentState.SUPERSEDED, at)
            if each.subject == name and each.state is AdjustmentState.APPLIED
            else each
            for each in self.adjustments
        ]
        self.adjustments.append(
            Adjustment(
                id=adjustment_id(at, name),
                at=at,
                kind=AdjustmentKind.MODELS,
                subject=name,
                before=before,
                after=after,
                evidence={
                    "quality": mixed.quality.model_dump(),
                    "then": then_of(self.evidence, name, mixed.weights),
                },
                reason=mixed.reason,
                by=f"daily-{at:%Y-%m-%d}",
            )
        )

    def _holds(self, name: str, after: dict[str, Any], at: datetime) -> bool:
        """Whether a mix is too new to be changed only in its shares: its turns are watched."""
        return any(
            each.subject == name
            and each.state is AdjustmentState.APPLIED
            and each.at > at - HELD
            and top(each.after) == top(after)
            for each in self.adjustments
        )

    def _take_back(self, day: int) -> set[str]:
        """Take back what fell, and forget what was known before of the models that did."""
        at, fallen = START + timedelta(days=day + 1), set[str]()
        for place, made in enumerate(self.adjustments):
            recent = made.at >= at - WATCHED
            if made.state is AdjustmentState.APPLIED and recent and fell_since(made, self.evidence):
                self.mind = mixed_as(self.mind, made.subject, made.before)
                self.adjustments[place] = ended(made, AdjustmentState.ROLLED_BACK, at)
                fallen.add(made.subject)
                for model, known in made.evidence["then"].items():
                    self._changed[f"{made.subject}/{model}"] = ModelEvidence.of(known).quality
        return fallen

    def _arm(self, task: int, model: str) -> Arm:
        price = next(each.cost for each in self.world.models if each.name == model)
        evidence = self.known(task, model)
        turns = sum(
            self.evidence.models.get(f"{_name(each)}/{model}", _NONE).turns for each in _TASKS
        )
        bins = self.evidence.grades.get(model)
        graded = Sums()
        if bins and turns and evidence.turns:
            added, share = supported(bins), evidence.turns / turns
            n = int(added.n * share)
            part = n / added.n if added.n else 0.0
            graded = Sums(n=n, total=added.total * part, squares=added.squares * part)
        return Arm(model=model, name=model, evidence=evidence, price=price, graded=graded)

    def _turns(self, task: int) -> int:
        start = f"{_name(task)}/"
        return sum(
            each.turns for key, each in self.evidence.models.items() if key.startswith(start)
        )

    def _current(self, name: str) -> str:
        mix = mix_of(self.mind, name)
        if mix is None:
            return self.world.models[FIRST_MODEL].name
        return max(mix.weights, key=lambda model: mix.weights[model])


class ByMean:
    """Always what had the best mean so far: nothing is tried out again, nothing is withheld.

    Each model is asked a few times at first. A skill whose turns came out below the mean of all
    turns is dropped.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.live = [skill.name for skill in world.skills]
        self.decisions: list[Decision] = []
        self._models = defaultdict[tuple[int, str], list[float]](list)
        self._skills = defaultdict[str, list[float]](list)
        self._asked = defaultdict[int, int](int)

    def model(self, asked: Asked) -> tuple[str, float]:
        """Each in turn at first, then the one with the best mean."""
        names = [model.name for model in self.world.models]
        number = self._asked[asked.task]
        self._asked[asked.task] += 1
        if number < _TRIED * len(names):
            return names[number % len(names)], 1.0
        return max(names, key=lambda name: _mean(self._models[asked.task, name])), 1.0

    def skills(self, asked: Asked) -> tuple[list[Skill], list[Skill]]:
        """All that fit."""
        return fitting(self.world, asked, self.live), []

    def night(self, _day: int, seen: Day) -> None:
        """Add up what turns were worth."""
        for turn in judged_turns(seen.signals, seen.opinions):
            signals, value = turn.signals, self.value(turn, seen)
            if value is None:
                continue
            served = signals.served[0]
            self._models[TASK_TYPES.index(served.task_type), served.model].append(value)
            for skill in signals.given:
                self._skills[skill].append(value)
        known = [each for values in self._models.values() for each in values]
        self.live = [
            name
            for name in self.live
            if len(self._skills[name]) < _LEAST or _mean(self._skills[name]) >= _mean(known)
        ]

    def value(self, turn: Judged, _seen: Day) -> float | None:
        """What a turn counts as: its worth by objective signals."""
        return turn.worth


class BySelfGrade(ByMean):
    """The same, but a turn counts as what its model says of it."""

    def value(self, turn: Judged, seen: Day) -> float | None:
        """The grade; None where there is none."""
        return seen.grades.get(row_id(turn.signals))


def row_id(signals: Signals) -> str:
    """The metrics id of a turn's only call."""
    return f"{signals.at:%Y%m%dT%H%M%S.%fZ}-{signals.turn_id}-0001"


def _name(task: int) -> str:
    return f"{USE.value}/{TASK_TYPES[task]}"


def _indexed(name: str, *, on_trial: bool) -> IndexedSkill:
    return IndexedSkill(name=name, description=name, on_trial=on_trial)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


_NONE = ModelEvidence()
_TASKS = range(len(TASK_TYPES))
