"""Nightly decisions on skills: verdicts on trials by their effect, and the start of new ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import combinations
from typing import Any

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    is_learning_pinned,
)
from opencrab.domain.learning.review_period import Remark, SkillReview
from opencrab.domain.learning.signals import (
    CURRENT,
    KEPT_DAYS,
    SKILL_HOLDOUTS,
    SkillHoldouts,
    signals_id,
)
from opencrab.domain.learning.skill_trials import place_learned_skill
from opencrab.domain.learning.treatment_effect import (
    SkillEffect,
    SkillVerdict,
    TrialVerdict,
    skill_trial_verdict,
    trial_effects_of_skill,
    withheld_share,
)
from opencrab.domain.skills.lifecycle import (
    promote_learned_skill,
    put_skill_on_trial,
    retire_learned_skill,
    set_learned_skill_aside,
)
from opencrab.domain.skills.skill import BY_EVIDENCE, AcquiredSkill, Effectiveness, SkillStatus
from opencrab.domain.text.terms import text_terms
from opencrab.engine.learning.changes import LearningChange, MindAndSkill, open_adjustments_of
from opencrab.engine.learning.snapshot import EvidenceSnapshot, NightlyContext
from opencrab.ports.skills import load_skill_holdouts

ALIKE = 0.6
"""Least share of common terms, of the shorter description, of two similar skills."""

ONLY = "only"
"""Key of an adjustment: the only types of task that a promoted skill is kept for."""

NO_TRIALS = "no_trials"
"""Reason for promoting a skill without a trial: trials are disabled."""

UNSEEN = timedelta(days=30)
"""Time after which a trial with too few judged turns makes room for a skill that waits."""

REPEATED = timedelta(hours=1)
"""Time within which a night that is repeated stores the same shares no second time."""

_LEAST_TERMS = 4
_POINTS = 100


def decide_skill_trials_nightly(findings: EvidenceSnapshot) -> tuple[LearningChange, ...]:
    """Return the trials that end by their evidence, and those that begin in the free places.

    A skill that was restored, or decided on by an owner, is judged by the evidence since then.
    """
    made = []
    on = [
        skill
        for skill in findings.skills
        if skill.status is SkillStatus.CANDIDATE
        and not is_learning_pinned(findings.mind, _subject(skill.name))
    ]
    for skill in on:
        effects = _effects(findings, skill.name)
        verdict = _verdict(findings, skill, effects)
        if verdict.word is not TrialVerdict.KEEP:
            made.append(_trial_end_change(findings, skill, effects, verdict))
        elif _is_unseen(findings, skill, effects[0]):
            aside = set_learned_skill_aside
            made.append(_skill_change(findings, skill, SkillStatus.DISABLED, "unseen", aside))
    return (*made, *_trial_start_changes(findings, len(on) - len(made)))


def review_skills(findings: EvidenceSnapshot) -> tuple[SkillReview, ...]:
    """Return the nightly review of each live skill, by name: keep, merge, retire or refine."""
    live = {skill.name: skill for skill in findings.skills if skill.status.is_live}
    twins = dict(_twins(tuple(live.values())))
    return tuple(_review(findings, live[name], twins.get(name, "")) for name in sorted(live))


def skill_proposals(
    findings: EvidenceSnapshot, reviews: tuple[SkillReview, ...]
) -> tuple[LearningChange, ...]:
    """Return proposals from the reviews, without those that are proposed already."""
    found = (_proposal(findings, each) for each in reviews if each.remark is not Remark.KEEP)
    return tuple(change for change in found if change is not None)


def _learned_skill_effectiveness(effect: SkillEffect) -> Effectiveness | None:
    """Convert an effect to points of 100 with its interval; None without an estimate."""
    found = effect.estimate
    if found is None:
        return None
    points, low, high = (
        round(max(min(each * _POINTS, _POINTS), -_POINTS), 1)
        for each in (found.mean, found.low, found.high)
    )
    return Effectiveness(points=points, low=low, high=high, turns=effect.turns)


def skill_holdouts_after_night(
    findings: EvidenceSnapshot, before: SkillHoldouts | None
) -> SkillHoldouts:
    """Return how often each skill is withheld from now on, by what is believed of its effect.

    A promoted skill stays kept for its types of task alone (`before`) until it is on trial again.
    """
    shares, of_skill = dict[str, dict[str, float]](), findings.posterior.of_skill
    for skill in findings.skills:
        weights = findings.posterior.skill_task_weights(skill.name)
        if skill.status is SkillStatus.CANDIDATE and weights:
            whole = sum(weights.values())
            mixed = {kind: weight / whole for kind, weight in weights.items()}
            kinds = {"": mixed} | {kind: {kind: 1.0} for kind in sorted(weights)}
            shares[skill.name] = {
                kind: withheld_share(of_skill(skill.name, each)) for kind, each in kinds.items()
            }
    active = {skill.name for skill in findings.skills if skill.status is SkillStatus.ACTIVE}
    only = dict(before.only) if before else {}
    for made in reversed(findings.recent):
        if made.kind is AdjustmentKind.SKILL and made.state is AdjustmentState.APPLIED:
            only.pop(made.subject, None)
            only[made.subject] = tuple(made.after.get(ONLY, ()))
    kept = {name: kinds for name, kinds in only.items() if kinds and name in active}
    return SkillHoldouts(at=findings.at, shares=shares, only=kept)


def store_skill_holdouts(findings: NightlyContext) -> None:
    """Store how often each skill is withheld from now on, and when that was decided.

    A copy by time is kept as long as the signals of turns, so that the probability with which a
    skill was withheld from any of them is known. Nothing is stored for an agent without skills,
    and nothing twice by a night that is repeated within an hour and decides the same.
    """
    facts, agent_id = findings.runtime.home.facts, findings.agent.id
    before = load_skill_holdouts(facts, agent_id)
    found = skill_holdouts_after_night(findings, before)
    if before is None and not found.shares and not found.only:
        return
    if before and before.replaced(at=found.at) == found and found.at < before.at + REPEATED:
        return
    until, name = findings.at + timedelta(days=KEPT_DAYS), signals_id(findings.at)
    facts.commit(
        new_fact(agent_id, SKILL_HOLDOUTS, CURRENT, found).replaced(version=0),
        new_fact(agent_id, SKILL_HOLDOUTS, name, found, expires_at=until).replaced(version=0),
    )


def _effects(findings: EvidenceSnapshot, name: str) -> tuple[SkillEffect, ...]:
    """Return a skill's effects, over all types of task first, also of one without turns."""
    found = trial_effects_of_skill(findings.posterior, findings.evidence, name)
    return found or (SkillEffect(skill=name),)


def _verdict(
    findings: EvidenceSnapshot, skill: AcquiredSkill, effects: Sequence[SkillEffect]
) -> SkillVerdict:
    """Return the verdict on a skill on trial; promotes it if trials are disabled.

    After a decision nothing is decided until there are `least_turns` judged turns more.
    """
    trials, verdict = findings.trials, SkillVerdict(TrialVerdict.KEEP, "")
    known = skill.effectiveness
    if known is None or effects[0].turns - known.turns >= trials.least_turns:
        verdict = skill_trial_verdict(effects, trials, findings.at - skill.updated_at)
    is_free = place_learned_skill(skill, findings.mind, trials).status is SkillStatus.ACTIVE
    if verdict.word is TrialVerdict.KEEP and is_free:
        return SkillVerdict(TrialVerdict.PROMOTE, NO_TRIALS)
    return verdict


_Act = Callable[[AcquiredSkill, datetime], AcquiredSkill]


def _skill_change(
    findings: EvidenceSnapshot, skill: AcquiredSkill, status: SkillStatus, reason: str, act: _Act
) -> LearningChange:
    """Return the change of a skill's status by `act`; it conflicts if the skill has changed."""
    subject = _subject(skill.name)

    def alter(mind: AgentState, stored: AcquiredSkill | None) -> MindAndSkill:
        if stored is None or (stored.status, stored.waits) != (skill.status, skill.waits):
            raise Conflict(f"skill {skill.name!r} was changed concurrently")
        if skill.status is SkillStatus.CANDIDATE and is_learning_pinned(mind, subject):
            raise Conflict(f"skill {skill.name!r} was pinned concurrently")
        return mind, act(stored, findings.at)

    made = _adjustment(findings, skill, {"status": status.value}, reason)
    return LearningChange(made, alter, open_adjustments_of(findings.recent, subject))


def _trial_end_change(
    findings: EvidenceSnapshot,
    skill: AcquiredSkill,
    effects: Sequence[SkillEffect],
    verdict: SkillVerdict,
) -> LearningChange:
    measured = _learned_skill_effectiveness(effects[0])
    status, act = SkillStatus.ARCHIVED, partial(retire_learned_skill, owner=BY_EVIDENCE)
    if verdict.word is TrialVerdict.PROMOTE:
        status, act = SkillStatus.ACTIVE, partial(promote_learned_skill)
    act = partial(act, effectiveness=measured)
    change = _skill_change(findings, skill, status, verdict.reason, act)
    after: dict[str, Any] = {"status": status.value}
    if verdict.only:
        after[ONLY] = list(verdict.only)
    made = _adjustment(findings, skill, after, verdict.reason)
    numbers = _numbers(effects[0]) | {"tasks": _task_numbers(effects[1:])}
    return replace(change, adjustment=made.replaced(evidence=numbers))


def _is_unseen(findings: EvidenceSnapshot, skill: AcquiredSkill, effect: SkillEffect) -> bool:
    """Return True if a trial has too few judged turns after 30 days and other skills wait.

    Its evidence is kept and counts when its trial resumes.
    """
    others = any(each.waits for each in findings.skills)
    is_little = effect.turns < findings.trials.least_turns
    return others and is_little and skill.updated_at < findings.at - UNSEEN


def _trial_start_changes(findings: EvidenceSnapshot, on_trial_now: int) -> Iterator[LearningChange]:
    """Yield the trials of skills that waited longest, up to the limit; all if trials are off."""
    waiting = sorted(
        (skill for skill in findings.skills if skill.waits),
        key=lambda skill: (skill.updated_at, skill.created_at, skill.name),
    )
    trials, status, reason = findings.trials, SkillStatus.CANDIDATE, "room"
    free = max(trials.candidates - on_trial_now, 0)
    if not trials.skill_percent:
        free, status, reason = len(waiting), SkillStatus.ACTIVE, NO_TRIALS
    for skill in waiting[:free]:
        yield _skill_change(
            findings,
            skill,
            status,
            reason,
            lambda stored, now: put_skill_on_trial(stored, now).replaced(status=status),
        )


def _review(findings: EvidenceSnapshot, skill: AcquiredSkill, twin: str) -> SkillReview:
    effects, trials = _effects(findings, skill.name), findings.trials
    effect = effects[0]
    word, reason, _ = skill_trial_verdict(effects, trials, findings.at - skill.updated_at)
    remark, other = Remark.KEEP, ""
    if twin:
        remark, reason, other = Remark.MERGE, "says_the_same", twin
    elif skill.status is SkillStatus.ACTIVE and effect.estimate and effect.estimate.high < 0:
        remark, reason = Remark.RETIRE, "harms"
    elif word is TrialVerdict.KEEP and effect.estimate and effect.turns >= trials.most_turns // 2:
        remark, reason = Remark.REFINE, "no_use_seen"
    return SkillReview(
        skill=skill.name,
        status=skill.status.value,
        remark=remark,
        reason=reason,
        other=other,
        effect=effect.estimate,
        given=effect.given,
        held=effect.held,
    )


def _proposal(findings: EvidenceSnapshot, review: SkillReview) -> LearningChange | None:
    after = {"remark": review.remark.value}
    if review.other:
        after["other"] = review.other
    for each in findings.recent:
        same = each.kind is AdjustmentKind.SKILL and each.subject == review.skill
        if same and each.state is AdjustmentState.PROPOSED and each.after == after:
            return None
    skill = next(each for each in findings.skills if each.name == review.skill)
    made = _adjustment(findings, skill, after, review.reason)
    numbers = _numbers(_effects(findings, review.skill)[0])
    proposed = made.replaced(evidence=numbers, state=AdjustmentState.PROPOSED)
    earlier = open_adjustments_of(findings.recent, _subject(review.skill))
    ends = tuple(each for each in earlier if each.state is AdjustmentState.PROPOSED)
    return LearningChange(proposed, ends=ends)


def _adjustment(
    findings: EvidenceSnapshot, skill: AcquiredSkill, after: Mapping[str, Any], reason: str
) -> Adjustment:
    causes = (findings.period, f"skill:{skill.name}", *map(str, after.values()))
    return Adjustment(
        id=adjustment_id(findings.at, *causes),
        at=findings.at,
        kind=AdjustmentKind.SKILL,
        subject=skill.name,
        before={"status": skill.status.value},
        after=dict(after),
        reason=reason,
        by=findings.period,
    )


def _numbers(effect: SkillEffect) -> dict[str, float]:
    """Return the numbers behind a decision: effect and interval in points, sizes, probability."""
    told = _learned_skill_effectiveness(effect)
    known = {"given": effect.given, "held": effect.held, "turns": effect.turns}
    numbers = {**known, "helps": round(effect.helps, 4)}
    if told is not None:
        numbers |= {"points": told.points, "low": told.low, "high": told.high}
    return numbers


def _task_numbers(effects: Sequence[SkillEffect]) -> dict[str, Any]:
    """Return the numbers of each type of task: effect and interval in points, and turns."""
    told = {each.task_type: _learned_skill_effectiveness(each) for each in effects}
    return {kind: known.model_dump() for kind, known in told.items() if known is not None}


def _twins(skills: tuple[AcquiredSkill, ...]) -> Iterator[tuple[str, str]]:
    """Yield skills with similar descriptions, each with the one that was learned first."""
    listed = sorted(skills, key=lambda skill: (skill.created_at, skill.name))
    words = {skill.name: text_terms(skill.description) for skill in listed}
    for first, second in combinations(listed, 2):
        one, other = words[first.name], words[second.name]
        least = min(len(one), len(other))
        if least >= _LEAST_TERMS and len(one & other) >= ALIKE * least:
            yield second.name, first.name


def _subject(name: str) -> LearnedSubject:
    return LearnedSubject(kind=AdjustmentKind.SKILL, name=name)
