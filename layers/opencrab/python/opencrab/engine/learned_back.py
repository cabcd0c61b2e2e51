"""Ways back: what a skill is once a change of it is undone, and a mix once its trial is stopped."""

from datetime import datetime

from opencrab.domain.adjusting import Subject, is_pinned, mix_of, telling
from opencrab.domain.adjustment import Adjustment
from opencrab.domain.errors import Conflict
from opencrab.domain.learning import on_trial, placed, restored, toggled
from opencrab.domain.mind import Mind
from opencrab.domain.mix import Mix
from opencrab.domain.skill import AcquiredSkill, SkillStatus
from opencrab.domain.trials import Trials


def skill_before(
    skill: AcquiredSkill, found: Adjustment, mind: Mind, trials: Trials, now: datetime
) -> AcquiredSkill:
    """A skill without a change of its standing; raises Conflict where it would stay as it is."""
    before = placed(_before(skill, found, now), mind, trials)
    if before.status is skill.status:
        why, cure = "there are no trials any more", "switch it off, or retire it"
        if is_pinned(mind, Subject(kind=found.kind, name=found.subject)):
            why, cure = "it is pinned", "let it go first: unpin it"
        raise Conflict(f"skill {skill.name!r} stays {skill.status.value}, as {why}", cure=cure)
    return before


def mix_and_best(mind: Mind, name: str) -> tuple[Mix, Mix]:
    """A mix, and its best model alone; raises Conflict where that comes to the same."""
    mix = mix_of(mind, name)
    if mix is None:
        raise Conflict(f"nothing is mixed for {name!r}", field="subject")
    best = max(sorted(mix.weights), key=lambda alias: mix.weights[alias])
    alone = mix.replaced(weights={best: 1.0})
    if telling(mix) == telling(alone):
        raise Conflict(
            f"for {name!r} {best!r} alone is asked already", field="subject", cure="pin it"
        )
    return mix, alone


def _before(skill: AcquiredSkill, found: Adjustment, now: datetime) -> AcquiredSkill:
    """A skill as it was before a change of its standing."""
    if found.before.get("status") == SkillStatus.DISABLED.value:
        return toggled(skill, now, on=False)
    if skill.status is SkillStatus.ARCHIVED:
        return restored(skill, now, owner=found.by)
    return on_trial(skill, now)
