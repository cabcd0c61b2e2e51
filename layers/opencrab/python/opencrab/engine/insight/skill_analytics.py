"""Statistics of an agent's skills: uses, effects, and learning results by week."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.insight.skill_title import learned_skill_title
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
)
from opencrab.domain.learning.reward_model import RewardPosterior
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import learned_skill_pin, withheld_percent
from opencrab.domain.learning.treatment_effect import SkillEffect, trial_effects_of_skill
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill, SkillStatus, SourceType
from opencrab.domain.value import Value
from opencrab.engine.insight.measures import (
    LITTLE,
    Measure,
    iso_review_week,
    learning_effect_in_points,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.learning import load_current_learning_data, text_times_of_skills
from opencrab.ports.skills import load_skill_holdouts

MOST_CHANGES = 500
"""Most changes that are read for the results by week, the newest."""


class TrialOf(Value):
    """Progress of a skill's trial: judged turns so far, and the least and most that decide it.

    `withheld_percent` is the share of fitting turns from which it is withheld.
    """

    turns: int
    least_turns: int
    most_turns: int
    withheld_percent: int
    pinned: bool


class MeasuredSkill(Value):
    """An acquired skill in numbers; the effect covers all types of task in their proportions.

    `trial` is there only during a trial.
    """

    name: str
    title: str
    status: SkillStatus
    waits: bool
    source_type: SourceType
    uses: int
    last_used_at: datetime | None
    created_at: datetime
    effect: Measure
    by_task: dict[str, Measure]
    trial: TrialOf | None


class WeekOfLearning(Value):
    """Counts of learned, promoted and retired skills and undone changes of one week (ISO, UTC)."""

    week: str
    learned: int
    promoted: int
    retired: int
    taken_back: int


class SkillAnalytics(Value):
    """An agent's acquired skills, greatest effect first, and its learning results by week.

    `statuses` counts them; `reason` says why nothing is measured.
    """

    agent_id: str
    as_of: str | None
    statuses: dict[SkillStatus, int]
    skills: tuple[MeasuredSkill, ...]
    weeks: tuple[WeekOfLearning, ...]
    reason: str | None


def skill_analytics(runtime: Runtime, agent_id: str) -> SkillAnalytics:
    """Return the statistics of an agent's acquired skills; raises NotFound."""
    mind, now = runtime.home.agents.get(agent_id).mind, runtime.clock.now()
    facts, trials = runtime.home.facts, runtime.rules.trials
    kept = [fact.read(AcquiredSkill) for fact in facts.page(agent_id, SKILL, limit=SKILLS_KEPT + 1)]
    page = facts.page(agent_id, ADJUSTMENT, limit=MOST_CHANGES, newest_first=True)
    learned = load_current_learning_data(facts, agent_id, now, text_times_of_skills(kept))
    posterior, holdouts = RewardPosterior(learned.reward_sums), load_skill_holdouts(facts, agent_id)
    measured = [
        analytics_of_skill(
            skill,
            trial_effects_of_skill(posterior, learned.evidence, skill.name),
            mind,
            trials,
            withheld_percent(holdouts, skill.name, trials.skill_percent),
        )
        for skill in kept
    ]
    return SkillAnalytics(
        agent_id=agent_id,
        as_of=learned.as_of or None,
        statuses=Counter(skill.status for skill in kept),
        skills=tuple(sorted(measured, key=_most_first)),
        weeks=_weeks(kept, [fact.read(Adjustment) for fact in page]),
        reason=None if any(each.effect.reason is None for each in measured) else LITTLE,
    )


def analytics_of_skill(
    skill: AcquiredSkill,
    found: Sequence[SkillEffect],
    mind: AgentState,
    trials: TrialSettings,
    percent: int,
) -> MeasuredSkill:
    """Return the statistics of one acquired skill, with its effects as far as they are known.

    `percent` is how often it is withheld on trial.
    """
    whole = found[0] if found else None
    on_trial = skill.status is SkillStatus.CANDIDATE
    return MeasuredSkill(
        name=skill.name,
        title=learned_skill_title(skill.name, skill.description),
        status=skill.status,
        waits=skill.waits,
        source_type=skill.source_type,
        uses=skill.usage_count,
        last_used_at=skill.last_used_at,
        created_at=skill.created_at,
        effect=learning_effect_in_points(whole),
        by_task={each.task_type: learning_effect_in_points(each) for each in found[1:]},
        trial=_trial(skill, whole, mind, trials, percent) if on_trial else None,
    )


def _trial(
    skill: AcquiredSkill,
    effect: SkillEffect | None,
    mind: AgentState,
    trials: TrialSettings,
    percent: int,
) -> TrialOf:
    return TrialOf(
        turns=effect.turns if effect else 0,
        least_turns=trials.least_turns,
        most_turns=trials.most_turns,
        withheld_percent=percent,
        pinned=learned_skill_pin(skill.name) in mind.pinned,
    )


def _most_first(skill: MeasuredSkill) -> tuple[bool, float, str]:
    return skill.effect.points is None, -(skill.effect.points or 0.0), skill.name


def _weeks(
    kept: Iterable[AcquiredSkill], changes: Iterable[Adjustment]
) -> tuple[WeekOfLearning, ...]:
    counts: dict[str, Counter[str]] = {}
    for skill in kept:
        counts.setdefault(iso_review_week(skill.created_at), Counter())["learned"] += 1
    for change in changes:
        became = _BECAME.get(str(change.after.get("status", "")))
        if change.kind is AdjustmentKind.SKILL and became and change.reason != STOPPED:
            counts.setdefault(iso_review_week(change.at), Counter())[became] += 1
            if change.state is AdjustmentState.UNDONE and change.ended_at is not None:
                counts.setdefault(iso_review_week(change.ended_at), Counter())["taken_back"] += 1
    return tuple(
        WeekOfLearning(
            week=week,
            learned=of["learned"],
            promoted=of["promoted"],
            retired=of["retired"],
            taken_back=of["taken_back"],
        )
        for week, of in sorted(counts.items())
    )


_BECAME = {SkillStatus.ACTIVE.value: "promoted", SkillStatus.ARCHIVED.value: "retired"}
