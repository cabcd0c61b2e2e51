"""An agent's experiments: their state, results so far and decisions, and how to end them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Literal, TypeVar

from pydantic import Field

from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.insight.figures import analytics_task_key
from opencrab.domain.learning.aggregate import AggregatedEvidence
from opencrab.domain.learning.change import (
    MEMORIES,
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    is_learning_pinned,
    learning_holdout_percent,
)
from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.learning.reward_model import RewardPosterior
from opencrab.domain.learning.signals import SkillHoldouts, withheld_percent
from opencrab.domain.learning.treatment_effect import (
    skill_trial_verdict,
    trial_effects_of_skill,
)
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill, SkillStatus
from opencrab.domain.statistics.confidence import estimate_mean
from opencrab.domain.statistics.off_policy import off_policy_estimate
from opencrab.domain.value import Unit, Value
from opencrab.engine.insight.explored_models import MixedModel, explored_models
from opencrab.engine.insight.measures import Measure, model_name_for_evidence
from opencrab.engine.insight.memory_analytics import memory_effect_for_analytics
from opencrab.engine.insight.skill_analytics import MOST_CHANGES, TrialOf, analytics_of_skill
from opencrab.engine.learning import changes
from opencrab.engine.learning.experiments import (
    EVERY_MODEL,
    are_model_tries_stopped,
    are_models_tried,
    end_experiment,
    pin_learned_subject,
    resume_model_tries,
    stop_model_tries,
    unpin_learned_subject,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.learning import load_current_learning_data, text_times_of_skills
from opencrab.ports.skills import load_skill_holdouts

DECISIONS = 10
"""Most decisions of one experiment, the newest."""

MODELS = "models"
"""Subject of the trying of models that nobody asked for, for every type of task."""

MEMORY = "memory"
"""Subject of the memory hold-out; the name "memories" is accepted too."""

Answer = TypeVar("Answer")


class ExperimentState(StrEnum):
    """Status of an experiment.

    A `settled` traffic split uses one model only; evidence changes nothing that is `pinned`.
    """

    RUNNING = "running"
    WAITING = "waiting"
    SETTLED = "settled"
    PINNED = "pinned"


class AdjustmentView(Adjustment):
    """A change that the nightly review proposed or made because of measurements.

    `experiment` names its subject as experiments and paths do.

    `says` are the texts of the experiences concerned: the one that is retired, and the one that
    replaces it.
    """

    experiment: str
    says: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: Adjustment, says: tuple[str, ...] = ()) -> "AdjustmentView":
        """Return a stored adjustment with its experiment's name and the texts concerned."""
        subject = made.about
        return cls(**dict(made), experiment=_experiment_address(subject), says=says)


class Experiment(Value):
    """An experiment with its results so far and its decision.

    `subject` is skill:NAME, models:PURPOSE.TASK_TYPE or memory. `verdict` is the current result for
    a skill on trial, `reason` the code of the reason, `only` the types of task that alone it would
    be kept for. `withheld_percent` is the share of turns that go without it.
    """

    subject: str
    kind: Literal["skill", "models", "memory"]
    state: ExperimentState
    effect: Measure | None = None
    by_task: dict[str, Measure] = Field(default_factory=dict)
    trial: TrialOf | None = None
    verdict: Literal["promote", "keep", "retire"] | None = None
    reason: str | None = None
    only: tuple[str, ...] = ()
    withheld_percent: int | None = None
    models: tuple[MixedModel, ...] = ()
    decisions: tuple[AdjustmentView, ...] = ()


class Experiments(Value):
    """An agent's experiments; `explore` is the share of turns that may try other models."""

    agent_id: str
    as_of: str | None
    explore: Unit
    items: tuple[Experiment, ...]
    pinned: tuple[str, ...]


class Pinned(Value):
    """Whether learning must not change this skill, experience or choice of models."""

    subject: str
    pinned: bool


def _experiment_address(subject: LearnedSubject) -> str:
    """Return the subject's name in URLs: models:PURPOSE.TASK_TYPE has no slash."""
    if subject == MEMORIES:
        return MEMORY
    if subject == EVERY_MODEL:
        return MODELS
    return subject.text.replace("/", ".", 1)


def experiments_for_insight(runtime: Runtime, agent_id: str) -> Experiments:
    """Return all experiments of an agent, skills first; raises NotFound."""
    profile = runtime.home.agents.get(agent_id)
    table = _Table.of(runtime, agent_id, profile.mind)
    return Experiments(
        agent_id=agent_id,
        as_of=table.known.as_of or None,
        explore=runtime.rules.trials.aim_of(profile.agent.llm.aim).explore,
        items=(*table.models(profile.agent), *table.skills(), *table.mixes(), *table.memory()),
        pinned=tuple(_pins_of_agent(profile)),
    )


def _pins_of_agent(profile: Profile) -> Iterator[str]:
    if are_model_tries_stopped(profile.agent):
        yield MODELS
    for each in profile.mind.pinned:
        yield _experiment_address(LearnedSubject.of(each))


def stop_experiment(runtime: Runtime, agent_id: str, subject: str, by: str) -> Adjustment:
    """End an experiment; raises NotFound naming the existing ones, Conflict if none runs."""
    if subject == MODELS:
        return stop_model_tries(runtime, agent_id, by)
    if _is_memory(subject):
        return end_experiment(runtime, agent_id, MEMORIES.text, by)
    return _apply_to_subject(
        runtime, agent_id, subject, lambda name: end_experiment(runtime, agent_id, name, by)
    )


def find_stopped_experiment(runtime: Runtime, agent_id: str, subject: str, by: str) -> Adjustment:
    """Retry `stop_experiment`: if this owner's stop is the newest decision, return that."""
    named = MEMORY if _is_memory(subject) else subject
    for made in changes.page_of_adjustments(runtime.home.facts, agent_id):
        if _experiment_address(made.about) == named:
            if (made.reason, made.by, made.state) == (STOPPED, by, AdjustmentState.APPLIED):
                return made
            break
    return stop_experiment(runtime, agent_id, subject, by)


def pin_experiment_subject(runtime: Runtime, agent_id: str, subject: str, by: str) -> Pinned:
    """Pin a subject, so that evidence does not change it; raises NotFound."""
    if subject == MODELS:
        if not are_model_tries_stopped(runtime.home.agents.get(agent_id).agent):
            stop_model_tries(runtime, agent_id, by)
        return Pinned(subject=subject, pinned=True)
    _apply_to_subject(
        runtime,
        agent_id,
        subject,
        lambda name: pin_learned_subject(runtime, agent_id, name),
    )
    return Pinned(subject=subject, pinned=True)


def unpin_experiment_subject(runtime: Runtime, agent_id: str, subject: str) -> Pinned:
    """Unpin a subject, so that evidence may change it; raises NotFound if it is not pinned."""
    mind = runtime.home.agents.get(agent_id).mind
    if subject == MODELS and resume_model_tries(runtime, agent_id):
        return Pinned(subject=subject, pinned=False)

    def free(name: str) -> AgentState:
        if not is_learning_pinned(mind, LearnedSubject.of(name)):
            raise NotFound(
                f"{subject!r} is not pinned",
                field="subject",
                cure=f"nothing to unpin; list the pins with GET /api/agents/{agent_id}/experiments",
            )
        return unpin_learned_subject(runtime, agent_id, name)

    _apply_to_subject(runtime, agent_id, subject, free)
    return Pinned(subject=subject, pinned=False)


def find_unpinned_subject(runtime: Runtime, agent_id: str, subject: str) -> Pinned:
    """Retry `unpin_experiment_subject`: also succeeds if the subject is not pinned any more."""
    try:
        return unpin_experiment_subject(runtime, agent_id, subject)
    except NotFound:
        runtime.home.agents.get(agent_id)
        return Pinned(subject=subject, pinned=False)


@dataclass(frozen=True)
class _Table:
    """The stored data of an agent from which its experiments are computed."""

    runtime: Runtime
    agent_id: str
    mind: AgentState
    at: datetime
    known: AggregatedEvidence
    decisions: Sequence[Adjustment]
    holdouts: SkillHoldouts | None

    @cached_property
    def posterior(self) -> RewardPosterior:
        """What is believed of the agent's skills now."""
        return RewardPosterior(self.known.reward_sums)

    @classmethod
    def of(cls, runtime: Runtime, agent_id: str, mind: AgentState) -> "_Table":
        facts = runtime.home.facts
        decided = changes.page_of_adjustments(facts, agent_id, limit=MOST_CHANGES)
        page = facts.page(agent_id, SKILL, limit=SKILLS_KEPT + 1)
        worded = text_times_of_skills(fact.read(AcquiredSkill) for fact in page)
        at, holdouts = runtime.clock.now(), load_skill_holdouts(facts, agent_id)
        known = load_current_learning_data(facts, agent_id, at, worded)
        return cls(runtime, agent_id, mind, at, known, decided, holdouts)

    def models(self, agent: Agent) -> Iterator[Experiment]:
        """Yield the trying of models, if any are tried or the owner has stopped that."""
        is_stopped = are_model_tries_stopped(agent)
        if not is_stopped and not are_models_tried(self.runtime, agent):
            return
        shown = explored_models(self.runtime, agent, self.known.evidence)
        if len(shown) == 1 and not is_stopped:
            return
        yield Experiment(
            subject=MODELS,
            kind="models",
            state=ExperimentState.PINNED if is_stopped else ExperimentState.RUNNING,
            models=shown,
            decisions=self._decisions(EVERY_MODEL),
        )

    def skills(self) -> Iterator[Experiment]:
        """Yield skills on trial and skills that wait for a trial."""
        page = self.runtime.home.facts.page(self.agent_id, SKILL, limit=SKILLS_KEPT + 1)
        for skill in (fact.read(AcquiredSkill) for fact in page):
            if skill.status is SkillStatus.CANDIDATE or skill.waits:
                yield self._skill(skill)

    def mixes(self) -> Iterator[Experiment]:
        """Yield traffic splits."""
        for mix in self.mind.mixes:
            subject = LearnedSubject(kind=AdjustmentKind.MODELS, name=mix.subject)
            tried = sum(weight > 0 for weight in mix.weights.values()) > 1
            yield Experiment(
                subject=_experiment_address(subject),
                kind="models",
                state=self._state(
                    subject, ExperimentState.RUNNING if tried else ExperimentState.SETTLED
                ),
                models=tuple(self._asked(mix, alias) for alias in sorted(mix.weights)),
                decisions=self._decisions(subject),
            )

    def memory(self) -> Iterator[Experiment]:
        """Yield the memory hold-out if it runs or is pinned."""
        percent = learning_holdout_percent(self.mind, self.runtime.rules.trials)
        if percent or is_learning_pinned(self.mind, MEMORIES):
            yield Experiment(
                subject=MEMORY,
                kind="memory",
                state=self._state(MEMORIES, ExperimentState.RUNNING),
                effect=memory_effect_for_analytics(self.known.evidence),
                withheld_percent=percent,
                decisions=self._decisions(MEMORIES),
            )

    def _skill(self, skill: AcquiredSkill) -> Experiment:
        trials = self.runtime.rules.trials
        subject = LearnedSubject(kind=AdjustmentKind.SKILL, name=skill.name)
        found = trial_effects_of_skill(self.posterior, self.known.evidence, skill.name)
        percent = withheld_percent(self.holdouts, skill.name, trials.skill_percent)
        shown = analytics_of_skill(skill, found, self.mind, trials, percent)
        says, why, only = skill_trial_verdict(found, trials, self.at - skill.updated_at)
        return Experiment(
            subject=_experiment_address(subject),
            kind="skill",
            state=self._state(
                subject, ExperimentState.WAITING if skill.waits else ExperimentState.RUNNING
            ),
            effect=shown.effect,
            by_task=shown.by_task,
            only=only,
            trial=shown.trial,
            verdict=says.value,
            reason=why,
            withheld_percent=0 if skill.waits else percent,
            decisions=self._decisions(subject),
        )

    def _asked(self, mix: Mix, alias: str) -> MixedModel:
        name = model_name_for_evidence(self.runtime.models, alias)
        key = analytics_task_key(mix.purpose, mix.task_type, name or "")
        known = self.known.evidence.models.get(key, ModelEvidence())
        return MixedModel(
            model=alias,
            name=name,
            weight=mix.weights[alias],
            turns=known.turns,
            quality=estimate_mean(known.value_sums),
            off_policy=off_policy_estimate(known.weighted),
            cost_micro_usd=known.cost.mean,
            latency_ms=known.latency.mean,
        )

    def _state(self, subject: LearnedSubject, otherwise: ExperimentState) -> ExperimentState:
        return ExperimentState.PINNED if is_learning_pinned(self.mind, subject) else otherwise

    def _decisions(self, subject: LearnedSubject) -> tuple[AdjustmentView, ...]:
        key = (subject.kind, subject.name)
        same = (each for each in self.decisions if (each.kind, each.subject) == key)
        return tuple(map(AdjustmentView.of, same))[:DECISIONS]


def _apply_to_subject(
    runtime: Runtime, agent_id: str, subject: str, act: Callable[[str], Answer]
) -> Answer:
    """Call `act` with a subject's stored name; raises NotFound naming the existing subjects."""
    kind, _, name = subject.partition(":")
    if kind == AdjustmentKind.MODELS:
        name = name.replace(".", "/", 1)
    text = MEMORIES.text if _is_memory(subject) else f"{kind}:{name}"
    try:
        return act(text)
    except (Invalid, NotFound) as error:
        found = experiments_for_insight(runtime, agent_id)
        there = {each.subject for each in found.items} | {*found.pinned}
        raise NotFound(
            error.message,
            field="subject",
            cure=f"use one of {', '.join(sorted(there))}" if there else "there are no experiments",
        ) from None


def _is_memory(subject: str) -> bool:
    """Return True if the subject is the memory hold-out."""
    return subject in {MEMORY, MEMORIES.kind.value, MEMORIES.text}
