"""The night's work on models: mixes by what is known, and back where quality fell."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.domain.adjusting import alike, is_pinned, mix_of, mixed_as, telling
from opencrab.domain.adjustment import Adjustment, AdjustmentKind, AdjustmentState
from opencrab.domain.agent import Agent
from opencrab.domain.aim import Leave
from opencrab.domain.choosing import (
    Ground,
    about,
    adjustment,
    chosen,
    counted_from,
    day_micro_usd,
    fell_since,
    mix,
    over,
    subject,
)
from opencrab.domain.errors import Conflict
from opencrab.domain.evidence import Evidence
from opencrab.domain.mind import Mind
from opencrab.domain.mixing import Mixed
from opencrab.domain.night import Standstill
from opencrab.domain.skill import AcquiredSkill
from opencrab.domain.tally import Tally
from opencrab.engine.folding import Folded
from opencrab.engine.learned import Alter, Change
from opencrab.engine.measured import choices_of
from opencrab.engine.runtime import Runtime

WATCHED = timedelta(days=14)
"""How long a mix may be taken back by what its quality is since then."""


@dataclass(frozen=True)
class Scene:
    """An agent and what is known of it when its night is looked at.

    `at` is when this night's run began first, so that a repeat comes to the same; `tallies` are
    those of the open days. `recent` are its adjustments of late, newest first. Nothing is changed
    about an agent that is `frozen`.
    """

    runtime: Runtime
    agent: Agent
    mind: Mind
    skills: tuple[AcquiredSkill, ...]
    folded: Folded
    tallies: tuple[Tally, ...]
    recent: tuple[Adjustment, ...]
    at: datetime
    period: str
    frozen: bool

    @property
    def evidence(self) -> Evidence:
        """All that is known."""
        return self.folded.evidence

    @property
    def changes(self) -> bool:
        """Whether anything may follow from what is known."""
        return self.agent.answers and not self.frozen

    @property
    def day_micro_usd(self) -> int:
        """What a day may cost."""
        limits = self.runtime.rules.limits.changed(self.runtime.home.budgets.limits())
        return day_micro_usd(self.agent, limits.agent_day(self.agent.day_limit_micro_usd))

    def ground(self) -> Ground:
        """What a choice of models rests on."""
        return Ground(
            agent=self.agent,
            mind=self.mind,
            routing=self.runtime.models.routing,
            evidence=self.evidence,
            days=tuple(self.folded.open.values()),
            tallies=self.tallies,
            choices=dict(choices_of(self.runtime, self.agent)),
            earlier=self.recent,
            day_micro_usd=self.day_micro_usd,
        )


def fallen(scene: Scene) -> tuple[Adjustment, ...]:
    """Mixes that hold and whose models have become worse than what they were chosen for.

    Only whole days after that of the change count: no turn before it was its doing.
    """
    return tuple(
        each
        for each in scene.recent
        if _is_held(each)
        and "until" in each.evidence
        and each.at >= scene.at - WATCHED
        and not is_pinned(scene.mind, subject(each.subject))
        and fell_since(each, scene.evidence)
    )


def watched(scene: Scene) -> dict[str, Adjustment]:
    """Mixes that hold, by id, with what was known at the end of their day where that is new."""
    found = dict[str, Adjustment]()
    for each in scene.recent:
        day = each.at.astimezone(UTC).date()
        evidence = scene.folded.until(day) if _is_held(each) else None
        if evidence is not None:
            counted = counted_from(each, evidence, day.isoformat())
            if counted != each:
                found[each.id] = counted
    return found


def _is_held(each: Adjustment) -> bool:
    applied = each.kind is AdjustmentKind.MODELS and each.state is AdjustmentState.APPLIED
    return applied and "then" in each.evidence


def learned_mixes(
    scene: Scene, skipped: frozenset[str] = frozenset()
) -> tuple[tuple[Change, ...], tuple[Standstill, ...]]:
    """What follows for each purpose and type of task, and why nothing does for the others.

    Nothing is looked at of a frozen agent, or where the owner left that off, nor those `skipped`.
    """
    if scene.frozen:
        return (), (Standstill(subject="models", reason="frozen"),)
    aim = scene.agent.llm.aim
    if aim.leave is Leave.OFF:
        return (), (Standstill(subject="models", reason="off"),)
    ground, seed = scene.ground(), f"{scene.agent.id}/{scene.period}"
    follows = chosen(ground, aim, scene.at, seed=seed, skipped=skipped)
    changes, still = [], dict(follows.still)
    for name, mixed in follows.found.items():
        if aim.leave is Leave.RECOMMEND and _is_proposed(ground, name, mixed):
            still[name] = "proposed"
        else:
            changes.append(_change(scene, ground, name, mixed))
    told = (Standstill(subject=name, reason=why) for name, why in sorted(still.items()))
    return tuple(changes), tuple(told)


def _is_proposed(ground: Ground, name: str, mixed: Mixed) -> bool:
    after = telling(mix(name, mixed))
    return any(
        each.state is AdjustmentState.PROPOSED and alike(each.after, after)
        for each in about(ground, name)
    )


def _change(scene: Scene, ground: Ground, name: str, mixed: Mixed) -> Change:
    """The adjustment by which a mix is proposed, or applied where the owner lets that be."""
    applies = scene.agent.llm.aim.leave is Leave.APPLY
    state = AdjustmentState.APPLIED if applies else AdjustmentState.PROPOSED
    made = adjustment(ground, name, mixed, scene.at, by=scene.period, state=state)
    alter = applied(name, made.before, made.after) if applies else None
    return Change(made, alter, over(ground, made))


def applied(name: str, before: dict[str, Any], after: dict[str, Any]) -> Alter:
    """What makes a mix of what was before; it raises Conflict where something else is by now."""

    def alter(mind: Mind, _skill: AcquiredSkill | None) -> tuple[Mind, AcquiredSkill | None]:
        if telling(mix_of(mind, name)) != before or is_pinned(mind, subject(name)):
            raise Conflict(f"the mix for {name!r} was changed meanwhile")
        return mixed_as(mind, name, after), None

    return alter
