"""Changes to an agent based on evidence: storing, undoing and pinning them.

Every change is one transaction: the agent's state, the skill concerned, and the adjustment that
records it. A concurrent update causes a retry.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import Any

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    MEMORIES,
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    describe_mix,
    end_adjustment,
    is_learning_pinned,
    mix_of,
    with_learned_pin,
    with_mix,
    with_told_mix,
    without_learned_pin,
)
from opencrab.domain.learning.skill_lifecycle import index_learned_skill, promote_learned_skill
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SkillStatus
from opencrab.engine.learning.experience_changes import Beside, restore_learned_experience
from opencrab.engine.learning.experiment_subject import find_experiment_subject
from opencrab.engine.learning.undo import (
    WAS_PINNED,
    mix_and_best,
    mix_before,
    release_experiment_stops,
    skill_before_learned_change,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import paginate

log = logging.getLogger(__name__)

_TRIES = 5
_PAGE = 100
_MOST_ENDED = 10
_EVER = datetime.min.replace(tzinfo=UTC)
_HELD = {AdjustmentState.APPLIED, AdjustmentState.PROPOSED}

_MindAndSkill = tuple[AgentState, AcquiredSkill | None]
Alter = Callable[[AgentState, AcquiredSkill | None], _MindAndSkill]
"""Function that changes an agent's state and the skill concerned, or raises Conflict."""
_AlterMind = Callable[[AgentState], AgentState]


@dataclass(frozen=True)
class LearningChange:
    """An adjustment to store, with its effect, what it ends, and what it puts back in force.

    `ends` are superseded, `again` is applied again. `beside` gives documents other than the agent's
    state and skill to write with it. `was` is the state that an adjustment stored before must still
    have; None for a new one.
    """

    adjustment: Adjustment
    alter: Alter | None = None
    ends: tuple[Adjustment, ...] = ()
    was: AdjustmentState | None = None
    again: Adjustment | None = None
    beside: Beside | None = None

    def apply(self, mind: AgentState, skill: AcquiredSkill | None) -> _MindAndSkill:
        """Return the agent's state and the skill after this change; raises Conflict."""
        if self.alter is None:
            return mind, skill
        after, changed = self.alter(mind, skill)
        if changed is None or changed == skill or skill is None:
            return after, skill
        return index_learned_skill(after, changed), changed


def page_of_adjustments(
    facts: Documents, agent_id: str, *, after: str = "", limit: int = _PAGE
) -> tuple[Adjustment, ...]:
    """Return an agent's adjustments, applied or proposed, newest first, before the id `after`."""
    page = facts.page(agent_id, ADJUSTMENT, after=after, limit=limit, newest_first=True)
    return tuple(fact.read(Adjustment) for fact in page)


def find_adjustment(facts: Documents, agent_id: str, adjustment_id: str) -> Adjustment:
    """Return one adjustment; raises NotFound."""
    return _require_adjustment(facts, agent_id, adjustment_id).read(Adjustment)


def recent_adjustments(facts: Documents, agent_id: str, since: datetime) -> tuple[Adjustment, ...]:
    """Return the adjustments since a time, applied or proposed, newest first."""
    return tuple(_recent(facts, agent_id, since))


def store_adjustment(facts: Documents, agent_id: str, change: LearningChange) -> Adjustment:
    """Store an adjustment together with its effect, once however often it is called.

    Raises Conflict if the change no longer fits, and Changed after 5 concurrent updates.
    """
    for _ in range(_TRIES - 1):
        try:
            return _commit_change(facts, agent_id, change)
        except Changed:
            continue
    return _commit_change(facts, agent_id, change)


def undo_adjustment(runtime: Runtime, agent_id: str, adjustment_id: str, by: str) -> Adjustment:
    """Undo a change, unless something changed its subject since.

    A retired or promoted skill goes back on trial; an undone traffic split puts the split before it
    back, whose own change can then be undone. Raises NotFound, and Conflict if the change was not
    applied, if a pin or the end of all trials prevents it, or naming the later change.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    found = find_adjustment(runtime.home.facts, agent_id, adjustment_id)
    if found.state is AdjustmentState.UNDONE:
        return found
    if found.state is not AdjustmentState.APPLIED:
        raise _changed_since(runtime.home.facts, agent_id, found, f"it is {found.state.value}")
    now = runtime.clock.now()
    undone = end_adjustment(found, AdjustmentState.UNDONE, now, by)
    change = _taking_back(runtime, agent_id, undone)
    return log_learning_change(agent_id, store_adjustment(runtime.home.facts, agent_id, change))


def roll_back_mix(runtime: Runtime, agent_id: str, found: Adjustment, by: str) -> Adjustment:
    """Restore the traffic split before one whose quality fell; raises Conflict if it changed."""
    back = end_adjustment(found, AdjustmentState.ROLLED_BACK, runtime.clock.now(), by)
    change = _taking_back(runtime, agent_id, back)
    return log_learning_change(agent_id, store_adjustment(runtime.home.facts, agent_id, change))


def pin_learned_subject(runtime: Runtime, agent_id: str, subject: str) -> AgentState:
    """Pin a subject, so that evidence does not change it; raises Invalid, NotFound, Conflict."""
    facts, now = runtime.home.facts, runtime.clock.now()
    named = find_experiment_subject(facts, agent_id, subject, now)
    return _change_mind(runtime.home, agent_id, lambda mind: with_learned_pin(mind, named))


def unpin_learned_subject(runtime: Runtime, agent_id: str, subject: str) -> AgentState:
    """Unpin a subject, so that evidence may change it again; raises Invalid, Conflict.

    A stop that set the pin will not remove a later one when undone; a stop of the memory hold-out
    is over.
    """
    named = LearnedSubject.of(subject)
    facts, now = runtime.home.facts, runtime.clock.now()
    over = partial(release_experiment_stops, facts, agent_id, named, now)
    return _change_mind(runtime.home, agent_id, lambda mind: without_learned_pin(mind, named), over)


def end_experiment(runtime: Runtime, agent_id: str, subject: str, by: str) -> Adjustment:
    """End an experiment: promote the skill, or use the split's best model alone and pin it.

    Raises Invalid, NotFound, and Conflict if no experiment runs.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    facts, now = runtime.home.facts, runtime.clock.now()
    named = find_experiment_subject(facts, agent_id, subject, now)
    if named.kind is AdjustmentKind.SKILL:
        before: dict[str, Any] = {"status": SkillStatus.CANDIDATE.value}
        after: dict[str, Any] = {"status": SkillStatus.ACTIVE.value}
        evidence = dict[str, Any]()
        alter = _stopped_trial(named, now)
    elif named.kind is AdjustmentKind.EXPERIENCE:
        raise Conflict(
            f"experience {named.name!r} has no experiment to stop",
            field="subject",
            cure="pin it, if learning must not change it",
        )
    else:
        mind = learned_mind(facts, agent_id)
        mix, alone = mix_and_best(mind, named.name)
        before, after = describe_mix(mix), describe_mix(alone)
        evidence = {WAS_PINNED: is_learning_pinned(mind, named)}
        alter = _stopped_mix(named, mind, alone)
    made = Adjustment(
        id=adjustment_id(now, subject, by),
        at=now,
        kind=named.kind,
        subject=named.name,
        before=before,
        after=after,
        evidence=evidence,
        reason=STOPPED,
        by=by,
    )
    earlier = open_adjustments_of(page_of_adjustments(facts, agent_id), named)
    change = LearningChange(made, alter, earlier)
    return log_learning_change(agent_id, store_adjustment(facts, agent_id, change))


def open_adjustments_of(
    found: tuple[Adjustment, ...], subject: LearnedSubject
) -> tuple[Adjustment, ...]:
    """Return a subject's adjustments in force or proposed, which a new one ends."""
    same = (each for each in found if (each.kind, each.subject) == (subject.kind, subject.name))
    return tuple(each for each in same if each.state in _HELD)[:_MOST_ENDED]


def require_agent_able_to_learn(agents: Agents, agent_id: str) -> None:
    """Raise Conflict if the agent has retired, NotFound if it does not exist."""
    if not agents.get(agent_id).agent.answers:
        raise Conflict(
            f"agent {agent_id!r} has retired and cannot be changed", cure="choose another agent"
        )


def log_learning_change(agent_id: str, made: Adjustment) -> Adjustment:
    """Log a change and return it."""
    shown = made.id, agent_id, f"{made.kind.value}:{made.subject}", made.state.value
    log.info("learning change stored: id=%s, agent=%s, subject=%s, state=%s", *shown)
    return made


def learned_mind(facts: Documents, agent_id: str) -> AgentState:
    """Return an agent's stored state, an empty one if there is none."""
    fact = facts.get(agent_id, MIND, MIND)
    return fact.read(AgentState) if fact else AgentState()


def _recent(facts: Documents, agent_id: str, since: datetime) -> Iterator[Adjustment]:
    known = paginate(partial(page_of_adjustments, facts), agent_id, after="", limit=_PAGE)
    return takewhile(lambda each: each.at >= since, known)


def _commit_change(facts: Documents, agent_id: str, change: LearningChange) -> Adjustment:
    wanted = change.adjustment
    stored = facts.get(agent_id, ADJUSTMENT, wanted.id)
    if stored is not None and (change.was is None or stored.read(Adjustment).state is wanted.state):
        return stored.read(Adjustment)
    writes = [new_fact(agent_id, ADJUSTMENT, wanted.id, wanted)]
    if stored is not None and change.was is not None:
        if stored.read(Adjustment).state is not change.was:
            raise Conflict(
                f"change {wanted.id!r} is no longer {change.was.value}",
                cure="read the change again",
            )
        writes = [stored.with_body(wanted)]
    writes += _ending(facts, agent_id, change)
    if change.again is not None:
        fact = _require_adjustment(facts, agent_id, change.again.id)
        again = fact.read(Adjustment).replaced(ended_at=None, ended_by="")
        writes.append(fact.with_body(again.replaced(state=AdjustmentState.APPLIED)))
    if change.alter is not None:
        writes += _mind_and_skill(facts, agent_id, change)
    if change.beside is not None:
        writes += change.beside()
    facts.commit(*writes)
    return wanted


def _ending(facts: Documents, agent_id: str, change: LearningChange) -> Iterator[Document]:
    """Yield the superseded adjustments; raises Conflict if one was followed since it was read."""
    new = change.adjustment
    for earlier in change.ends:
        fact = _require_adjustment(facts, agent_id, earlier.id)
        known = fact.read(Adjustment)
        if known.state is earlier.state:
            yield fact.with_body(end_adjustment(known, AdjustmentState.SUPERSEDED, new.at, new.id))
        elif known.state in _HELD:
            raise Conflict(
                f"change {earlier.id!r} is already {known.state.value}", cure="reload it"
            )


def _mind_and_skill(facts: Documents, agent_id: str, change: LearningChange) -> Iterator[Document]:
    wanted = change.adjustment
    known, held = facts.get(agent_id, MIND, MIND), None
    mind = known.read(AgentState) if known else AgentState()
    if wanted.kind is AdjustmentKind.SKILL:
        held = facts.get(agent_id, SKILL, wanted.subject)
    skill = held.read(AcquiredSkill) if held else None
    after, changed = change.apply(mind, skill)
    if changed is not None and changed != skill and held is not None:
        yield held.with_body(changed)
    if after != mind:
        yield known.with_body(after) if known else new_fact(agent_id, MIND, MIND, after)


def _taking_back(runtime: Runtime, agent_id: str, back: Adjustment) -> LearningChange:
    if back.kind is AdjustmentKind.EXPERIENCE:
        beside = restore_learned_experience(runtime.home.facts, runtime.clock, agent_id, back)
        return LearningChange(back, was=AdjustmentState.APPLIED, beside=beside)
    again = mix_before(_recent(runtime.home.facts, agent_id, _EVER), back)
    alter = _back(runtime, agent_id, back)
    return LearningChange(back, alter, was=AdjustmentState.APPLIED, again=again)


def _back(runtime: Runtime, agent_id: str, found: Adjustment) -> Alter:
    """Return a function that restores the state before a change, or raises Conflict."""
    now, trials = runtime.clock.now(), runtime.rules.trials
    subject = LearnedSubject(kind=found.kind, name=found.subject)
    conflict = partial(_changed_since, runtime.home.facts, agent_id, found)

    def alter(mind: AgentState, skill: AcquiredSkill | None) -> _MindAndSkill:
        if found.kind is AdjustmentKind.MODELS:
            if describe_mix(mix_of(mind, found.subject)) != found.after:
                raise conflict("the traffic split has changed")
            if found.reason == STOPPED and not found.evidence.get(WAS_PINNED):
                mind = without_learned_pin(mind, subject)
            return with_told_mix(mind, found.subject, found.before), None
        if subject == MEMORIES:
            if not is_learning_pinned(mind, subject):
                raise conflict("memories are on trial again")
            return without_learned_pin(mind, subject), None
        if skill is None or skill.status.value != found.after.get("status"):
            raise conflict("the skill has changed")
        return mind, skill_before_learned_change(skill, found, mind, trials, now)

    return alter


def _stopped_trial(subject: LearnedSubject, now: datetime) -> Alter:
    def alter(mind: AgentState, skill: AcquiredSkill | None) -> _MindAndSkill:
        if skill is None or skill.status is not SkillStatus.CANDIDATE:
            raise Conflict(
                f"skill {subject.name!r} is not on trial",
                field="subject",
                cure="nothing to stop; list the experiments to see which run",
            )
        return mind, promote_learned_skill(skill, now)

    return alter


def _stopped_mix(subject: LearnedSubject, known: AgentState, alone: Mix) -> Alter:
    before, pinned = describe_mix(mix_of(known, subject.name)), is_learning_pinned(known, subject)

    def alter(mind: AgentState, _skill: AcquiredSkill | None) -> _MindAndSkill:
        now = describe_mix(mix_of(mind, subject.name)), is_learning_pinned(mind, subject)
        if now != (before, pinned):
            raise Conflict(f"the traffic split for {subject.name!r} has changed", cure="reload it")
        return with_learned_pin(with_mix(mind, alone), subject), None

    return alter


def _change_mind(
    home: Home, agent_id: str, change: _AlterMind, beside: Beside | None = None
) -> AgentState:
    require_agent_able_to_learn(home.agents, agent_id)
    for _ in range(_TRIES - 1):
        try:
            return _update_mind(home.facts, agent_id, change, beside)
        except Changed:
            continue
    return _update_mind(home.facts, agent_id, change, beside)


def _update_mind(
    facts: Documents, agent_id: str, change: _AlterMind, beside: Beside | None
) -> AgentState:
    fact = facts.get(agent_id, MIND, MIND)
    mind = fact.read(AgentState) if fact else AgentState()
    after = change(mind)
    if after != mind:
        known = fact.with_body(after) if fact else new_fact(agent_id, MIND, MIND, after)
        facts.commit(known, *(beside() if beside else ()))
    return after


def _require_adjustment(facts: Documents, agent_id: str, adjustment_id: str) -> Document:
    fact = facts.get(agent_id, ADJUSTMENT, adjustment_id)
    if fact is None:
        raise NotFound(
            f"there is no change {adjustment_id!r}",
            field="change_id",
            cure=f"list them with GET /api/agents/{agent_id}/changes",
        )
    return fact


def _changed_since(facts: Documents, agent_id: str, found: Adjustment, why: str) -> Conflict:
    listed = page_of_adjustments(facts, agent_id)
    same = (each for each in listed if (each.kind, each.subject) == (found.kind, found.subject))
    later = [each.id for each in same if each.id > found.id]
    named = f"; change {later[-1]} came later" if later else ""
    return Conflict(
        f"change {found.id!r} cannot be undone: {why}{named}",
        cure="read the change again, and undo a later one first",
    )
