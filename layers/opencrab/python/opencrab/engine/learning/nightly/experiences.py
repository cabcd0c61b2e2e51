"""The night's work on experiences: what was never of use, or is told twice, is proposed to go."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any

from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    is_subject_pinned,
)
from opencrab.domain.learning.evidence import RECALLED_DAYS, MemoryHits
from opencrab.domain.learning.review_period import Remark, useless_experience_ids
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.skills.skill import SkillStatus
from opencrab.domain.text.similarity import ALIKE, TextTerms
from opencrab.engine.learning.changes import LearningChange, open_adjustments_of
from opencrab.engine.learning.experience_changes import OTHER, experience_adjustments
from opencrab.engine.learning.snapshot import NightlyContext

A_NIGHT = 5
"""Experiences about which one night proposes something."""

NEWEST, STRANGERS = 100, 20
"""Experiences of its own, and out of strangers' words, that are compared with each other."""

PAGES = 10
"""Pages of NEWEST that are read for them at most."""

OLDER = 100
"""Experiences that are read in one night as they were never of use; where there are more, each
night reads the next ones."""

LET_BE = timedelta(days=30)
"""How long nothing is proposed again: after a proposal, and after somebody brought one back."""

NEVER_OF_USE, TOLD_TWICE = "never_of_use", "told_twice"

_MOVED = (AdjustmentState.APPLIED, AdjustmentState.PROPOSED)


def experience_proposals(scene: NightlyContext) -> tuple[LearningChange, ...]:
    """What searches showed often and was never of use, and what says the same as another one.

    At most A_NIGHT together; nothing changes before an owner follows. One to which another was
    left, or is to be left, stays.
    """
    tonight = sum(each.by == scene.period for each in _about_experiences(scene))
    if tonight >= A_NIGHT:
        return ()
    never, compared = _never_of_use(scene), _comparison_candidates(scene)
    made = _collect_proposals(scene, never, compared, frozenset())
    if made:
        # Only then all changes are read that there ever were.
        made = _collect_proposals(scene, never, compared, _staying(scene))
    return tuple(
        LearningChange(each, ends=_proposed_before(scene, each))
        for each in made[: A_NIGHT - tonight]
    )


def _collect_proposals(
    scene: NightlyContext,
    never: dict[str, Experience],
    compared: dict[str, Experience],
    stays: AbstractSet[str],
) -> tuple[Adjustment, ...]:
    """What follows if these `stays`."""
    going = {name: each for name, each in never.items() if name not in stays and not each.model}
    others = {name: each for name, each in (never | compared).items() if name not in going}
    return (
        *(_proposal(scene, each, Remark.RETIRE, NEVER_OF_USE) for each in going.values()),
        *(_merging(scene, *twins) for twins in _twins(scene, others.values(), stays)),
    )


def search_hits_of_experiences(scene: NightlyContext) -> dict[str, MemoryHits]:
    """How often searches found each experience, and of what use it was, without retired ones.

    What was found of late was retired of late, if it was.
    """
    about = _about_experiences(scene)
    retired = {each.subject for each in about if each.state is AdjustmentState.APPLIED}
    recalled = scene.evidence.experiences_recalled
    return {name: each for name, each in recalled.items() if name not in retired}


def _about_experiences(scene: NightlyContext) -> Iterator[Adjustment]:
    return (each for each in scene.recent if each.kind is AdjustmentKind.EXPERIENCE)


def _experiences_in_cooldown(scene: NightlyContext) -> set[str]:
    return {each.subject for each in _about_experiences(scene) if each.at >= scene.at - LET_BE}


def _staying(scene: NightlyContext) -> frozenset[str]:
    """Experiences to which another one was left, or may be, as long as that can be followed."""
    found = experience_adjustments(scene.runtime.home.facts, scene.agent.id, *_MOVED)
    since = scene.at - LET_BE
    holds = (each for each in found if each.state is AdjustmentState.APPLIED or each.at >= since)
    return frozenset(str(each.after[OTHER]) for each in holds if OTHER in each.after)


def _never_of_use(scene: NightlyContext) -> dict[str, Experience]:
    """Experiences that were never of use and about which something may be proposed, by id.

    Of more than OLDER each night has the next ones.
    """
    since = scene.at - timedelta(days=RECALLED_DAYS)
    asked, recalled = _experiences_in_cooldown(scene), scene.evidence.experiences_recalled
    names = [each for each in useless_experience_ids(recalled, since) if each not in asked]
    names = [each for each in names if not is_subject_pinned(scene.mind, _subject(each))]
    if len(names) > OLDER:
        first = scene.at.toordinal() * OLDER % len(names)
        names = (names[first:] + names[:first])[:OLDER]
    wanted = ((EXPERIENCE, name) for name in names)
    stored = scene.runtime.home.facts.several(scene.agent.id, *wanted)
    lived = (fact.read(Experience) for fact in stored)
    return {each.id: each for each in lived if not _is_decided(scene, each)}


def _comparison_candidates(scene: NightlyContext) -> dict[str, Experience]:
    """The newest experiences that may say the same, by id, as far as they are told.

    Those are left out of which somebody was asked, or said, of late that they stay or go. What came
    of strangers' words takes no place of the agent's own.
    """
    asked, found = _experiences_in_cooldown(scene), dict[str, Experience]()
    room = {False: NEWEST, True: STRANGERS}
    for lived in _newest(scene):
        if lived.is_opinion or lived.id in asked or _is_decided(scene, lived):
            continue
        if room[lived.tainted] > 0:
            found[lived.id] = lived
            room[lived.tainted] -= 1
        if room[False] == 0:
            break
    return found


def _newest(scene: NightlyContext) -> Iterator[Experience]:
    facts, after = scene.runtime.home.facts, ""
    for _ in range(PAGES):
        page = facts.page(scene.agent.id, EXPERIENCE, after=after, limit=NEWEST, newest_first=True)
        yield from (fact.read(Experience) for fact in page)
        if len(page) < NEWEST:
            return
        after = page[-1].id


def _is_decided(scene: NightlyContext, lived: Experience) -> bool:
    """Whether it is retired, or was brought back of late."""
    back = lived.restored_at
    return lived.retired_at is not None or (back is not None and back >= scene.at - LET_BE)


def _twins(
    scene: NightlyContext, lived: Iterable[Experience], stays: AbstractSet[str]
) -> Iterator[tuple[Experience, Experience, float]]:
    """Experiences that say the same of the same, each with the better one, and how alike they are.

    The better one is the agent's own rather than a stranger's, the more useful, the older. What
    people thought of two turns is never the same.
    """
    kept = dict[tuple[str, ...], list[tuple[Experience, TextTerms]]]()
    for each in sorted(lived, key=lambda each: _place(scene, each)):
        if each.is_opinion:
            continue
        words = TextTerms.of(f"{each.experience}\n{each.lesson}")
        group = each.outcome.value, each.model, each.person_id, each.from_person
        better = kept.setdefault(group, [])
        if each.id not in stays and not is_subject_pinned(scene.mind, _subject(each.id)):
            like = [(words.like(others), other) for other, others in better]
            most, twin = max(like, key=lambda one: one[0], default=(0.0, each))
            if most >= ALIKE:
                yield each, twin, most
                continue
        better.append((each, words))


def _place(scene: NightlyContext, lived: Experience) -> tuple[bool, int, str]:
    return lived.tainted, -_recall_counts(scene, lived.id)["useful"], lived.id


def _merging(scene: NightlyContext, lived: Experience, twin: Experience, like: float) -> Adjustment:
    made = _proposal(scene, lived, Remark.MERGE, TOLD_TWICE, other=twin.id)
    of_twin = {f"other_{name}": count for name, count in _recall_counts(scene, twin.id).items()}
    return made.replaced(evidence={**made.evidence, **of_twin, "alike": round(like, 3)})


def _proposal(
    scene: NightlyContext, lived: Experience, remark: Remark, reason: str, **more: str
) -> Adjustment:
    after = {"remark": remark.value, **more}
    subject = _subject(lived.id)
    return Adjustment(
        id=adjustment_id(scene.at, scene.period, subject.text, *after.values()),
        at=scene.at,
        kind=subject.kind,
        subject=subject.name,
        before={"status": SkillStatus.ACTIVE.value},
        after=dict[str, Any](after),
        evidence=dict[str, Any](_recall_counts(scene, lived.id)),
        reason=reason,
        by=scene.period,
        state=AdjustmentState.PROPOSED,
    )


def _recall_counts(scene: NightlyContext, experience_id: str) -> dict[str, int]:
    """How often searches showed an experience, and how often it was of use."""
    known = scene.evidence.experiences_recalled.get(experience_id)
    return {"found": known.found if known else 0, "useful": known.useful if known else 0}


def _proposed_before(scene: NightlyContext, made: Adjustment) -> tuple[Adjustment, ...]:
    earlier = open_adjustments_of(scene.recent, _subject(made.subject))
    return tuple(each for each in earlier if each.state is AdjustmentState.PROPOSED)


def _subject(experience_id: str) -> LearnedSubject:
    return LearnedSubject(kind=AdjustmentKind.EXPERIENCE, name=experience_id)
