"""The night's work on skills: trials are decided by their effect, and the next ones begin."""

from collections.abc import Iterator
from itertools import combinations

from opencrab.domain.adjusting import Subject, adjustment_id, is_pinned
from opencrab.domain.adjustment import Adjustment, AdjustmentKind, AdjustmentState
from opencrab.domain.effect import Effect, Verdict, effects, verdict
from opencrab.domain.errors import Conflict
from opencrab.domain.learning import on_trial, placed, promoted, retired
from opencrab.domain.mind import Mind
from opencrab.domain.night import Remark, Review
from opencrab.domain.skill import BY_EVIDENCE, AcquiredSkill, Effectiveness, SkillStatus
from opencrab.domain.terms import terms
from opencrab.engine.learned import Alter, Change, open_of
from opencrab.engine.night_models import Scene

ALIKE = 0.6
"""The share of the terms of the shorter description that the other one has, to say the same."""

NO_TRIALS = "no_trials"
"""Why a skill becomes active unmeasured: nothing is withheld any more."""

_LEAST_TERMS = 4
_POINTS = 100


def decided(scene: Scene) -> tuple[Change, ...]:
    """Trials that end by their evidence, and those that begin as there is room for them.

    What somebody brought back, or an owner decided once, is judged by what came to be known since.
    """
    made = []
    on = [
        skill
        for skill in scene.skills
        if skill.status is SkillStatus.CANDIDATE and not is_pinned(scene.mind, _subject(skill.name))
    ]
    for skill in on:
        effect = _effect(scene, skill.name)
        word, reason = _word(scene, skill, effect)
        if word is not Verdict.KEEP:
            made.append(_ended(scene, skill, effect, word, reason))
    return (*made, *_begun(scene, len(on) - len(made)))


def reviewed(scene: Scene) -> tuple[Review, ...]:
    """What is proposed for each skill that was measured, or is live."""
    live = {skill.name: skill for skill in scene.skills if skill.status.is_live}
    twins = dict(_twins(tuple(live.values())))
    return tuple(_review(scene, live[name], twins.get(name, "")) for name in sorted(live))


def proposals(scene: Scene, reviews: tuple[Review, ...]) -> tuple[Change, ...]:
    """The reviews that somebody may follow, unless they were proposed before."""
    return tuple(
        change
        for review in reviews
        if review.remark is not Remark.KEEP and (change := _proposal(scene, review)) is not None
    )


def effectiveness(effect: Effect) -> Effectiveness | None:
    """An effect in points of 100, as a skill tells it."""
    found = effect.estimate
    if found is None:
        return None
    points, low, high = (
        round(max(min(each * _POINTS, _POINTS), -_POINTS), 1)
        for each in (found.mean, found.low, found.high)
    )
    return Effectiveness(points=points, low=low, high=high, turns=effect.turns)


def _effect(scene: Scene, name: str) -> Effect:
    """The effect with all models together."""
    found = effects(scene.evidence, name)
    return found[0] if found else Effect(skill=name)


def _word(scene: Scene, skill: AcquiredSkill, effect: Effect) -> tuple[Verdict, str]:
    """What becomes of a skill on trial; where trials are no more it is as good as any other."""
    trials, word, reason = scene.runtime.rules.trials, Verdict.KEEP, ""
    if _is_news(scene, effect):
        word, reason = verdict(effect, trials)
    is_free = placed(skill, scene.mind, trials).status is SkillStatus.ACTIVE
    return (Verdict.PROMOTE, NO_TRIALS) if word is Verdict.KEEP and is_free else (word, reason)


def _is_news(scene: Scene, effect: Effect) -> bool:
    """Whether enough came to be known since the last decision about a skill, if there was one."""
    for each in scene.recent:
        same = each.kind is AdjustmentKind.SKILL and each.subject == effect.skill
        if same and each.state is not AdjustmentState.PROPOSED and "turns" in each.evidence:
            since = effect.turns - int(each.evidence["turns"])
            return since >= scene.runtime.rules.trials.least_turns or since < 0
    return True


def _ended(
    scene: Scene, skill: AcquiredSkill, effect: Effect, word: Verdict, reason: str
) -> Change:
    measured, now = effectiveness(effect), scene.at
    status = SkillStatus.ACTIVE if word is Verdict.PROMOTE else SkillStatus.ARCHIVED

    def alter(mind: Mind, stored: AcquiredSkill | None) -> tuple[Mind, AcquiredSkill | None]:
        found = _as_it_was(stored, skill)
        if is_pinned(mind, _subject(skill.name)):
            raise Conflict(f"skill {skill.name!r} was pinned meanwhile")
        if word is Verdict.PROMOTE:
            return mind, promoted(found, now, measured)
        return mind, retired(found, now, owner=BY_EVIDENCE, effectiveness=measured)

    made = _adjustment(scene, skill, {"status": status.value}, reason)
    numbers = _numbers(effect)
    return Change(made.replaced(evidence=numbers), alter, _earlier(scene, skill.name))


def _begun(scene: Scene, on_trial_now: int) -> Iterator[Change]:
    """Skills that waited, the oldest first: as many as there is room for; all without trials."""
    waiting = sorted(
        (skill for skill in scene.skills if skill.waits),
        key=lambda skill: (skill.created_at, skill.name),
    )
    trials, status, reason = scene.runtime.rules.trials, SkillStatus.CANDIDATE, "room"
    free = max(trials.candidates - on_trial_now, 0)
    if not trials.skill_percent:
        free, status, reason = len(waiting), SkillStatus.ACTIVE, NO_TRIALS
    for skill in waiting[:free]:
        made = _adjustment(scene, skill, {"status": status.value}, reason)
        yield Change(made, _beginning(scene, skill, status), _earlier(scene, skill.name))


def _beginning(scene: Scene, skill: AcquiredSkill, status: SkillStatus) -> Alter:
    def alter(mind: Mind, stored: AcquiredSkill | None) -> tuple[Mind, AcquiredSkill | None]:
        return mind, on_trial(_as_it_was(stored, skill), scene.at).replaced(status=status)

    return alter


def _as_it_was(stored: AcquiredSkill | None, skill: AcquiredSkill) -> AcquiredSkill:
    """The skill as it is stored; raises Conflict where it stands elsewhere by now."""
    if stored is None or (stored.status, stored.waits) != (skill.status, skill.waits):
        raise Conflict(f"skill {skill.name!r} was changed meanwhile")
    return stored


def _review(scene: Scene, skill: AcquiredSkill, twin: str) -> Review:
    effect, trials = _effect(scene, skill.name), scene.runtime.rules.trials
    word, reason = verdict(effect, trials)
    remark, other = Remark.KEEP, ""
    if twin:
        remark, reason, other = Remark.MERGE, "says_the_same", twin
    elif skill.status is SkillStatus.ACTIVE and effect.estimate and effect.estimate.high < 0:
        remark, reason = Remark.RETIRE, "harms"
    elif word is Verdict.KEEP and effect.estimate and effect.turns >= trials.most_turns // 2:
        remark, reason = Remark.REFINE, "no_use_seen"
    return Review(
        skill=skill.name,
        status=skill.status.value,
        remark=remark,
        reason=reason,
        other=other,
        effect=effect.estimate,
        given=effect.given,
        held=effect.held,
    )


def _proposal(scene: Scene, review: Review) -> Change | None:
    after = {"remark": review.remark.value}
    if review.other:
        after["other"] = review.other
    for each in scene.recent:
        same = each.kind is AdjustmentKind.SKILL and each.subject == review.skill
        if same and each.state is AdjustmentState.PROPOSED and each.after == after:
            return None
    skill = next(each for each in scene.skills if each.name == review.skill)
    made = _adjustment(scene, skill, after, review.reason)
    numbers = _numbers(_effect(scene, review.skill))
    proposed = made.replaced(evidence=numbers, state=AdjustmentState.PROPOSED)
    earlier = _earlier(scene, review.skill)
    return Change(
        proposed, ends=tuple(each for each in earlier if each.state is AdjustmentState.PROPOSED)
    )


def _adjustment(
    scene: Scene, skill: AcquiredSkill, after: dict[str, str], reason: str
) -> Adjustment:
    causes = (scene.period, f"skill:{skill.name}", *after.values())
    return Adjustment(
        id=adjustment_id(scene.at, *causes),
        at=scene.at,
        kind=AdjustmentKind.SKILL,
        subject=skill.name,
        before={"status": skill.status.value},
        after=dict(after),
        reason=reason,
        by=scene.period,
    )


def _numbers(effect: Effect) -> dict[str, float]:
    """What a decision rests on: points of 100, numbers of turns, and a probability."""
    told = effectiveness(effect)
    known = {"given": effect.given, "held": effect.held, "turns": effect.turns}
    numbers = {**known, "helps": round(effect.helps, 4)}
    if told is not None:
        numbers |= {"points": told.points, "low": told.low, "high": told.high}
    return numbers


def _earlier(scene: Scene, name: str) -> tuple[Adjustment, ...]:
    return open_of(scene.recent, _subject(name))


def _twins(skills: tuple[AcquiredSkill, ...]) -> Iterator[tuple[str, str]]:
    """Skills whose descriptions say the same, each with the one that was learned first."""
    listed = sorted(skills, key=lambda skill: (skill.created_at, skill.name))
    words = {skill.name: terms(skill.description) for skill in listed}
    for first, second in combinations(listed, 2):
        one, other = words[first.name], words[second.name]
        least = min(len(one), len(other))
        if least >= _LEAST_TERMS and len(one & other) >= ALIKE * least:
            yield second.name, first.name


def _subject(name: str) -> Subject:
    return Subject(kind=AdjustmentKind.SKILL, name=name)
