"""Nightly proposals to retire experiences that were never useful or duplicate another one."""

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
    is_learning_pinned,
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
"""Most proposals of one night."""

NEWEST, STRANGERS = 100, 20
"""Most untainted and tainted experiences that are compared with each other."""

PAGES = 10
"""Most pages of NEWEST experiences that are read for the comparison."""

OLDER = 100
"""Most never useful experiences that one night reads; the next night reads the next ones."""

LET_BE = timedelta(days=30)
"""Time without a new proposal, after a proposal and after a restored experience."""

NEVER_OF_USE, TOLD_TWICE = "never_of_use", "told_twice"

_MOVED = (AdjustmentState.APPLIED, AdjustmentState.PROPOSED)


def experience_proposals(scene: NightlyContext) -> tuple[LearningChange, ...]:
    """Propose to retire experiences that were often found but never useful, or are duplicates.

    At most A_NIGHT proposals a night; an owner must follow them. An experience that another one is
    or may be merged into stays.
    """
    tonight = sum(each.by == scene.period for each in _about_experiences(scene))
    if tonight >= A_NIGHT:
        return ()
    never, compared = _never_of_use(scene), _comparison_candidates(scene)
    made = _collect_proposals(scene, never, compared, frozenset())
    if made:
        # All changes ever made are read only if there is something to propose.
        made = _collect_proposals(scene, never, compared, _staying(scene))
    found = list[LearningChange]()
    for each in made[: A_NIGHT - tonight]:
        earlier = open_adjustments_of(scene.recent, _subject(each.subject))
        ends = tuple(one for one in earlier if one.state is AdjustmentState.PROPOSED)
        found.append(LearningChange(each, ends=ends))
    return tuple(found)


def _collect_proposals(
    scene: NightlyContext,
    never: dict[str, Experience],
    compared: dict[str, Experience],
    stays: AbstractSet[str],
) -> tuple[Adjustment, ...]:
    """Return the proposals if the experiences in `stays` must not be retired."""
    going = {name: each for name, each in never.items() if name not in stays and not each.model}
    others = {name: each for name, each in (never | compared).items() if name not in going}
    return (
        *(_proposal(scene, name, Remark.RETIRE, NEVER_OF_USE) for name in going),
        *(_merging(scene, *twins) for twins in _twins(scene, others.values(), stays)),
    )


def nightly_experience_search_hits(scene: NightlyContext) -> dict[str, MemoryHits]:
    """Return search hits and uses of each experience that is not retired.

    Recent adjustments suffice to know the retired ones, since the hits are recent too.
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
    """Return the experiences that another one was merged into, or may be by a recent proposal."""
    found = experience_adjustments(scene.runtime.home.facts, scene.agent.id, *_MOVED)
    since = scene.at - LET_BE
    holds = (each for each in found if each.state is AdjustmentState.APPLIED or each.at >= since)
    return frozenset(str(each.after[OTHER]) for each in holds if OTHER in each.after)


def _never_of_use(scene: NightlyContext) -> dict[str, Experience]:
    """Return experiences that were found but never useful, without pinned or decided ones, by id.

    If there are more than OLDER, each night reads the next ones.
    """
    since = scene.at - timedelta(days=RECALLED_DAYS)
    asked, recalled = _experiences_in_cooldown(scene), scene.evidence.experiences_recalled
    names = [each for each in useless_experience_ids(recalled, since) if each not in asked]
    names = [each for each in names if not is_learning_pinned(scene.mind, _subject(each))]
    if len(names) > OLDER:
        first = scene.at.toordinal() * OLDER % len(names)
        names = (names[first:] + names[:first])[:OLDER]
    wanted = ((EXPERIENCE, name) for name in names)
    stored = scene.runtime.home.facts.get_many(scene.agent.id, *wanted)
    lived = (fact.read(Experience) for fact in stored)
    return {each.id: each for each in lived if not _is_decided(scene, each)}


def _comparison_candidates(scene: NightlyContext) -> dict[str, Experience]:
    """Return the newest experiences to compare for duplicates, by id.

    Feedback, retired experiences, and those proposed or restored within LET_BE are left out.
    Tainted experiences have their own limit, STRANGERS, and take no place of the agent's own.
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
    """Return True if an experience is retired or was restored within LET_BE."""
    back = lived.restored_at
    return lived.retired_at is not None or (back is not None and back >= scene.at - LET_BE)


def _twins(
    scene: NightlyContext, lived: Iterable[Experience], stays: AbstractSet[str]
) -> Iterator[tuple[Experience, Experience, float]]:
    """Yield near-duplicates: the experience to retire, the one to keep, and their similarity.

    Only experiences with the same outcome, model and persons are compared. The one to keep is
    untainted rather than tainted, then the more useful, then the older. Feedback is never compared.
    """
    kept = dict[tuple[str, ...], list[tuple[Experience, TextTerms]]]()
    for each in sorted(lived, key=lambda each: _place(scene, each)):
        if each.is_opinion:
            continue
        words = TextTerms.of(f"{each.experience}\n{each.lesson}")
        group = each.outcome.value, each.model, each.person_id, each.from_person
        better = kept.setdefault(group, [])
        if each.id not in stays and not is_learning_pinned(scene.mind, _subject(each.id)):
            like = [(words.similarity_to(others), other) for other, others in better]
            most, twin = max(like, key=lambda one: one[0], default=(0.0, each))
            if most >= ALIKE:
                yield each, twin, most
                continue
        better.append((each, words))


def _place(scene: NightlyContext, lived: Experience) -> tuple[bool, int, str]:
    return lived.tainted, -_recall_counts(scene, lived.id)["useful"], lived.id


def _merging(scene: NightlyContext, lived: Experience, twin: Experience, like: float) -> Adjustment:
    made = _proposal(scene, lived.id, Remark.MERGE, TOLD_TWICE, other=twin.id)
    of_twin = {f"other_{name}": count for name, count in _recall_counts(scene, twin.id).items()}
    return made.replaced(evidence={**made.evidence, **of_twin, "alike": round(like, 3)})


def _proposal(
    scene: NightlyContext, experience_id: str, remark: Remark, reason: str, **more: str
) -> Adjustment:
    after, subject = {"remark": remark.value, **more}, _subject(experience_id)
    return Adjustment(
        id=adjustment_id(scene.at, scene.period, subject.text, *after.values()),
        at=scene.at,
        kind=subject.kind,
        subject=subject.name,
        before={"status": SkillStatus.ACTIVE.value},
        after=dict[str, Any](after),
        evidence=dict[str, Any](_recall_counts(scene, experience_id)),
        reason=reason,
        by=scene.period,
        state=AdjustmentState.PROPOSED,
    )


def _recall_counts(scene: NightlyContext, experience_id: str) -> dict[str, int]:
    """Return how often searches found an experience, and how often it was useful."""
    known = scene.evidence.experiences_recalled.get(experience_id)
    return {"found": known.found if known else 0, "useful": known.useful if known else 0}


def _subject(experience_id: str) -> LearnedSubject:
    return LearnedSubject(kind=AdjustmentKind.EXPERIENCE, name=experience_id)
