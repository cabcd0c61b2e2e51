"""The owner's word on experiments: pins, and the end of a trial, a split, or a hold-out."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict, NotFound
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
    heaviest_learned_alias,
    is_learning_pinned,
    learning_holdout_percent,
    mix_of,
    with_learned_pin,
    with_mix,
    without_learned_pin,
)
from opencrab.domain.models.optimization import Aim, LearningMode
from opencrab.domain.skills.lifecycle import promote_learned_skill
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SkillStatus
from opencrab.engine.learning.changes import (
    Alter,
    LearningChange,
    MindAndSkill,
    adjustments_about,
    learned_mind,
    mind_document,
    open_adjustments_of,
    page_of_adjustments,
    require_agent_able_to_learn,
    store_adjustment,
)
from opencrab.engine.learning.experience_changes import has_learned_experience
from opencrab.engine.memory.records import stored_memory_state_of_agent
from opencrab.engine.models.router import models_to_try
from opencrab.engine.retry import retry_after_changes
from opencrab.engine.runtime import Runtime
from opencrab.ports.learning import load_current_learning_data
from opencrab.ports.paging import all_pages

EVERY_MODEL = LearnedSubject(kind=AdjustmentKind.MODELS, name="all")
"""The choice of models for every type of task: the trying of models that nobody asked for."""

WAS_PINNED = "was_pinned"
"""Key in the evidence of a stop: undoing the stop must keep the pin."""

WITHHELD = "withheld_percent"
"""Key of an adjustment: the percentage of turns in which searches hide memories."""

_LEAVE, _CHOSEN = "leave", ("explore", "chosen")
_NOTHING = "nothing to stop; list the experiments to see which run"


def pin_learned_subject(runtime: Runtime, agent_id: str, subject: str) -> AgentState:
    """Pin a subject, so that evidence does not change it; raises Invalid, NotFound, Conflict."""
    named = _find_subject(runtime, agent_id, subject)
    return _change_mind(runtime, agent_id, lambda mind: with_learned_pin(mind, named))


def unpin_learned_subject(runtime: Runtime, agent_id: str, subject: str) -> AgentState:
    """Unpin a subject, so that evidence may change it again; raises Invalid, Conflict.

    Its stops are released with the pin.
    """
    named = LearnedSubject.of(subject)
    return _change_mind(
        runtime,
        agent_id,
        lambda mind: without_learned_pin(mind, named),
        lambda: _released_stops(runtime, agent_id, named),
    )


class _Stop(NamedTuple):
    """What the end of an experiment changes, and how."""

    before: dict[str, Any]
    after: dict[str, Any]
    alter: Alter | None = None
    evidence: Mapping[str, Any] = MappingProxyType({})


def end_experiment(runtime: Runtime, agent_id: str, subject: str, by: str) -> Adjustment:
    """End an experiment: promote the skill, pin the split's best model alone, hide no memories.

    The hiding of memories resumes when the change is undone or the pin removed. Raises Invalid,
    NotFound, and Conflict if no experiment runs.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    named, now = _find_subject(runtime, agent_id, subject), runtime.clock.now()
    if named.kind is AdjustmentKind.EXPERIENCE:
        raise Conflict(
            f"experience {named.name!r} has no experiment to stop",
            field="subject",
            cure="pin it, if learning must not change it",
        )
    if named.kind is AdjustmentKind.SKILL:
        stop = _stop_of_trial(named, now)
    else:
        mind = learned_mind(runtime.home.facts, agent_id)
        percent = learning_holdout_percent(mind, runtime.rules.trials)
        stop = _stop_of_holdout(percent) if named == MEMORIES else _stop_of_mix(named, mind)
    return _store_stop(runtime, agent_id, named, by, stop)


def _store_stop(
    runtime: Runtime, agent_id: str, subject: LearnedSubject, by: str, stop: _Stop
) -> Adjustment:
    facts, now = runtime.home.facts, runtime.clock.now()
    made = Adjustment(
        id=adjustment_id(now, subject.text, by),
        at=now,
        kind=subject.kind,
        subject=subject.name,
        before=stop.before,
        after=stop.after,
        evidence=dict(stop.evidence),
        reason=STOPPED,
        by=by,
    )
    earlier = open_adjustments_of(page_of_adjustments(facts, agent_id), subject)
    return store_adjustment(facts, agent_id, LearningChange(made, stop.alter, earlier))


def _stop_of_trial(subject: LearnedSubject, now: datetime) -> _Stop:
    def alter(mind: AgentState, skill: AcquiredSkill | None) -> MindAndSkill:
        if skill is None or skill.status is not SkillStatus.CANDIDATE:
            raise _nothing_runs(f"skill {subject.name!r} is not on trial")
        return mind, promote_learned_skill(skill, now)

    before, after = SkillStatus.CANDIDATE.value, SkillStatus.ACTIVE.value
    return _Stop({"status": before}, {"status": after}, alter)


def _stop_of_holdout(percent: int) -> _Stop:
    def alter(mind: AgentState, skill: AcquiredSkill | None) -> MindAndSkill:
        if is_learning_pinned(mind, MEMORIES):
            raise _nothing_runs("this agent has no memory experiment")
        return with_learned_pin(mind, MEMORIES), skill

    if not percent:
        raise _nothing_runs("this agent has no memory experiment")
    return _Stop({WITHHELD: percent}, {WITHHELD: 0}, alter)


def _stop_of_mix(subject: LearnedSubject, known: AgentState) -> _Stop:
    """Return the stop that leaves a split's best model alone; raises Conflict if it is alone."""
    mix = mix_of(known, subject.name)
    if mix is None:
        raise _nothing_runs(f"there is no traffic split for {subject.name!r}")
    best = heaviest_learned_alias({"weights": mix.weights})
    alone = mix.replaced(weights={best: 1.0})
    before, after = describe_mix(mix), describe_mix(alone)
    if before == after:
        why = f"{best!r} is already the only model for {subject.name!r}"
        raise Conflict(why, field="subject", cure="pin it")
    was_pinned = is_learning_pinned(known, subject)

    def alter(mind: AgentState, _skill: AcquiredSkill | None) -> MindAndSkill:
        now = describe_mix(mix_of(mind, subject.name)), is_learning_pinned(mind, subject)
        if now != (before, was_pinned):
            raise Conflict(f"the traffic split for {subject.name!r} has changed", cure="reload it")
        return with_learned_pin(with_mix(mind, alone), subject), None

    return _Stop(before, after, alter, {WAS_PINNED: was_pinned})


def _find_subject(runtime: Runtime, agent_id: str, text: str) -> LearnedSubject:
    """Return the subject that a text names; raises Invalid, and NotFound if the agent lacks it."""
    subject, facts = LearnedSubject.of(text), runtime.home.facts
    if subject.kind is AdjustmentKind.SKILL:
        found = facts.get(agent_id, SKILL, subject.name) is not None
    elif subject.kind is AdjustmentKind.EXPERIENCE:
        found = has_learned_experience(facts, agent_id, subject.name)
    elif subject == MEMORIES:
        found = True
    else:
        known = load_current_learning_data(facts, agent_id, runtime.clock.now()).evidence.models
        found = any(key.startswith(f"{subject.name}/") for key in known)
        found = found or mix_of(learned_mind(facts, agent_id), subject.name) is not None
    if not found:
        raise NotFound(
            f"agent {agent_id!r} has no experiment for {text!r}",
            field="subject",
            cure=f"list them with GET /api/agents/{agent_id}/experiments",
        )
    return subject


def _nothing_runs(why: str) -> Conflict:
    return Conflict(why, field="subject", cure=_NOTHING)


def are_models_tried(runtime: Runtime, agent: Agent) -> bool:
    """Check whether an agent may try models unasked now."""
    if agent.model is not None:
        return False
    return bool(models_to_try(runtime.models, agent, runtime.rules.trials))


def are_model_tries_stopped(agent: Agent) -> bool:
    """Check whether the owner has stopped an agent's learning about models."""
    return agent.llm.aim.leave is LearningMode.OFF


def stop_model_tries(runtime: Runtime, agent_id: str, by: str) -> Adjustment:
    """Stop trying models and using what was learned of them; raises NotFound and Conflict.

    The word is stored with the agent's settings, so that its next turn keeps to it.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    agent = runtime.home.agents.get(agent_id).agent
    own = agent.llm.aim
    if are_model_tries_stopped(agent):
        raise _nothing_runs(f"agent {agent_id!r} tries no models")
    before = own.model_dump(mode="json", include={_LEAVE, *_CHOSEN})
    # The agent first: if this stops here, a repeat finds that it is off already.
    _save_aim(runtime, agent, own.replaced(leave=LearningMode.OFF, chosen=True))
    after = {_LEAVE: LearningMode.OFF.value}
    return _store_stop(runtime, agent_id, EVERY_MODEL, by, _Stop(before, after))


def resume_model_tries(
    runtime: Runtime, agent_id: str, before: Mapping[str, Any] | None = None
) -> bool:
    """Let an agent learn about models as before a stop; False if it was not stopped.

    `before` is what the stop ended, by default what the newest stop did. Without any, or if
    nobody had chosen how models are learned, it is left to the settings.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    agent = runtime.home.agents.get(agent_id).agent
    if not are_model_tries_stopped(agent):
        return False
    if before is None:
        stops = open_adjustments_of(page_of_adjustments(runtime.home.facts, agent_id), EVERY_MODEL)
        before = next((each.before for each in stops), {})
    own = Aim(**before) if before.keys() >= {_LEAVE, *_CHOSEN} else Aim()
    aim = agent.llm.aim.replaced(leave=own.leave, explore=own.explore, chosen=own.chosen)
    _save_aim(runtime, agent, aim)
    return True


def _save_aim(runtime: Runtime, agent: Agent, aim: Aim) -> None:
    changed = agent.replaced(llm=agent.llm.replaced(aim=aim), updated_at=runtime.clock.now())
    runtime.home.agents.save(changed)


def _change_mind(
    runtime: Runtime,
    agent_id: str,
    change: Callable[[AgentState], AgentState],
    beside: Callable[[], Iterator[Document]] = lambda: iter(()),
) -> AgentState:
    """Change an agent's state, with documents `beside` it; concurrent updates cause a retry."""
    require_agent_able_to_learn(runtime.home.agents, agent_id)

    def update() -> AgentState:
        stored, mind = stored_memory_state_of_agent(runtime.home.facts, agent_id)
        after = change(mind)
        if after != mind:
            runtime.home.facts.commit(mind_document(agent_id, stored, after), *beside())
        return after

    return retry_after_changes(update)


def _released_stops(runtime: Runtime, agent_id: str, subject: LearnedSubject) -> Iterator[Document]:
    """Yield a subject's stops once its pin is removed, so that undoing one keeps later pins.

    A stop of a split can still restore the split before it; one of the memory hold-out has ended.
    """
    for fact in all_pages(runtime.home.facts, agent_id, ADJUSTMENT):
        for made in adjustments_about([fact.read(Adjustment)], subject):
            if (made.reason, made.state) != (STOPPED, AdjustmentState.APPLIED):
                continue
            if subject == MEMORIES:
                now = runtime.clock.now()
                yield fact.with_body(end_adjustment(made, AdjustmentState.SUPERSEDED, now))
            elif subject.kind is AdjustmentKind.MODELS:
                yield fact.with_body(made.replaced(evidence=made.evidence | {WAS_PINNED: True}))
