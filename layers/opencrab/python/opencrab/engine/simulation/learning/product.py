"""The product's learning policy in a simulated environment, by the nightly run's own functions.

Evidence, skills, the agent's state and adjustments are held in memory instead of stores.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.aggregate import AggregatedEvidence, compute_learning_days
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    end_adjustment,
    mix_of,
    with_told_mix,
)
from opencrab.domain.learning.evidence import ClosedEvidence, Evidence
from opencrab.domain.learning.model_selection import CandidateModel
from opencrab.domain.learning.review_period import review_period_of_day
from opencrab.domain.learning.reward_model import reward_posterior
from opencrab.domain.learning.reward_rows import ClosedRewards, KnownRewards
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import (
    SkillHoldouts,
    draw_learned_skill_holdouts,
    learned_skills_on_trial,
)
from opencrab.domain.learning.skill_trials import index_learned_skill, place_learned_skill
from opencrab.domain.learning.treatment_effect import (
    SkillEffect,
    TrialVerdict,
    trial_effects_of_skill,
)
from opencrab.domain.models.optimization import Aim, LearningMode, OptimizationGoal
from opencrab.domain.models.routing import LlmConfig, Routing, Use
from opencrab.domain.money.budget import Price
from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus, SourceType
from opencrab.domain.statistics.hash_bucket import draw_hash_bucket
from opencrab.domain.usage.counters import CounterCell, DailyTally
from opencrab.engine.learning.aggregation import (
    close_evidence_days,
    split_open_and_closed_evidence,
)
from opencrab.engine.learning.changes import LearningChange
from opencrab.engine.learning.nightly.models import learned_mixes
from opencrab.engine.learning.nightly.skills import (
    ONLY,
    decide_skill_trials_nightly,
    skill_holdouts_after_night,
)
from opencrab.engine.learning.snapshot import EvidenceSnapshot
from opencrab.engine.learning.undo import mix_before
from opencrab.engine.simulation.learning.policies import (
    SimulatedDay,
    SkillDecision,
    fitting_simulated_skills,
)
from opencrab.engine.simulation.learning.world import (
    START,
    TASK_TYPES,
    LearningWorld,
    SimulatedQuestion,
    TrialSkill,
)

TRIALS = TrialSettings()
AIM = Aim(
    leave=LearningMode.APPLY, goal=OptimizationGoal.MAXIMIZE_QUALITY, min_quality=0.4, explore=0.2
)
USE = Use.CONVERSATION
FIRST_MODEL = 2
"""Index of the model that is used before there is evidence: the middle one."""

_TOKENS = 1_000
_VERDICTS = {SkillStatus.ACTIVE: TrialVerdict.PROMOTE, SkillStatus.ARCHIVED: TrialVerdict.RETIRE}


class ProductPolicy:
    """The product's policy for an agent whose owner lets evidence change it."""

    def __init__(
        self, world: LearningWorld, trials: TrialSettings = TRIALS, aim: Aim = AIM
    ) -> None:
        self.world, self.trials = world, trials
        self.agent = Agent(
            id="pupil",
            name="Pupil",
            llm=LlmConfig(aim=aim),
            created_at=START,
            updated_at=START,
        )
        aliases = {_alias(model.name): model.name for model in world.models}
        self.routing = Routing(
            default=_alias(world.models[FIRST_MODEL].name),
            aliases=aliases,
            selectable=tuple(aliases),
        )
        self.mind = AgentState()
        self.skills_kept = dict[str, AcquiredSkill]()
        self.standing = ClosedEvidence()
        self.closed: ClosedRewards | None = None
        self.holdouts: SkillHoldouts | None = None
        self.folded = AggregatedEvidence(START.date(), self.standing, {})
        self.decisions: list[SkillDecision] = []
        self.adjustments: list[Adjustment] = []
        self._open = dict[date, SimulatedDay]()
        for place, skill in enumerate(world.skills):
            self._learn(skill.name, START + timedelta(seconds=place))

    @property
    def evidence(self) -> Evidence:
        """Total evidence of all days so far."""
        return self.folded.evidence

    def choose_model(self, asked: SimulatedQuestion) -> tuple[str, float]:
        """Return a model drawn from the traffic split by hash bucket, as in a real turn."""
        mix = mix_of(self.mind, _simulated_subject(asked.task))
        if mix is None:
            return self.world.models[FIRST_MODEL].name, 1.0
        alias = draw_hash_bucket(mix.weights, "model", asked.id, mix.subject)
        return self.routing.aliases[alias], mix.weights[alias] / sum(mix.weights.values())

    def choose_skills(self, asked: SimulatedQuestion) -> tuple[list[TrialSkill], list[TrialSkill]]:
        """Return the fitting skills, and those withheld, whose places the next ones take."""
        live = [skill.name for skill in self.mind.skills]
        trying = learned_skills_on_trial(self.mind)
        resting = draw_learned_skill_holdouts(
            self.mind, self.holdouts, asked.id, TASK_TYPES[asked.task], self.trials.skill_percent
        )
        fit = fitting_simulated_skills(self.world, asked, live, trying)
        rest = [name for name in live if name not in resting]
        return (
            fitting_simulated_skills(self.world, asked, rest, trying),
            [skill for skill in fit if skill.name in resting],
        )

    def measured_skills(self, skills: Iterable[TrialSkill]) -> tuple[str, ...]:
        """Return the names of those that are on trial."""
        on_trial = learned_skills_on_trial(self.mind)
        return tuple(skill.name for skill in skills if skill.name in on_trial)

    def learn_from_day(self, day: int, seen: SimulatedDay) -> None:
        """Aggregate the day, choose new splits, and decide on skills."""
        found = self._findings(START.date() + timedelta(days=day), seen)
        changes, _ = learned_mixes(found)
        for change in (*changes, *decide_skill_trials_nightly(found)):
            self._do(change)
            self._note(found, day, change.adjustment)
        found = replace(self._again(found), skills=tuple(self.skills_kept.values()))
        self.holdouts = skill_holdouts_after_night(found, self.holdouts)

    def effect(self, skill: str) -> SkillEffect:
        """Return what is known of a skill's effect over all types of task."""
        posterior = reward_posterior(self.folded.reward_sums)
        found = trial_effects_of_skill(posterior, self.evidence, skill)
        return found[0] if found else SkillEffect(skill=skill)

    def newest_undone(self) -> bool:
        """Return True if undoing the newest split restores the one before it."""
        made = next((each for each in reversed(self.adjustments) if _is_mix(each)), None)
        if made is None:
            return False
        mind = with_told_mix(self.mind, made.subject, made.before)
        before = mix_before(self.adjustments, made)
        kept = mix_of(mind, made.subject)
        held = {} if before is None else before.after
        return held == ({} if kept is None else {"weights": kept.weights})

    def _learn(self, name: str, at: datetime) -> None:
        """Add a skill as if an owner had approved it at this time."""
        fresh = AcquiredSkill(
            name=name,
            description=name,
            guidance=name,
            status=SkillStatus.CANDIDATE,
            source_type=SourceType.EXPERIENCE,
            created_at=at,
            updated_at=at,
        )
        skill = place_learned_skill(fresh, self.mind, self.trials)
        self.skills_kept[name] = skill
        self.mind = index_learned_skill(self.mind, skill)

    def _findings(self, day: date, seen: SimulatedDay) -> EvidenceSnapshot:
        """Return the snapshot at the end of a day."""
        self._open[day] = seen
        signals = [each for one in self._open.values() for each in one.signals]
        said = [each for one in self._open.values() for each in one.opinions]
        grades = {row: grade for one in self._open.values() for row, grade in one.grades.items()}
        days = compute_learning_days(signals, said, grades, ended=day, worded={})
        self.folded = split_open_and_closed_evidence(
            day,
            self.standing,
            {name: each.evidence for name, each in days.items()},
            worths=KnownRewards(self.closed, {name: each.worths for name, each in days.items()}),
        )
        found = EvidenceSnapshot(
            agent=self.agent,
            mind=self.mind,
            skills=tuple(self.skills_kept.values()),
            known=self.folded,
            tallies=tuple(self._tallies()),
            recent=tuple(reversed(self.adjustments)),
            at=datetime.combine(day, START.timetz()) + timedelta(days=1),
            period=review_period_of_day(day).id,
            frozen=False,
            trials=self.trials,
            routing=self.routing,
            choices={
                _alias(model.name): _choice(model.name, model.cost) for model in self.world.models
            },
            day_micro_usd=self.world.day_micro_usd,
        )
        if self.folded.closing:
            self.closed = self.folded.worths.close(
                self.standing, self.folded.closing, self.skills_kept
            )
            self.standing = close_evidence_days(self.folded, self.skills_kept)
            for closing in self.folded.closing:
                del self._open[closing]
        return self._again(found)

    def _again(self, found: EvidenceSnapshot) -> EvidenceSnapshot:
        recent = tuple(reversed(self.adjustments))
        return replace(found, mind=self.mind, recent=recent)

    def _tallies(self) -> Iterable[DailyTally]:
        """Yield the tallies of the calls of the open days."""
        counts = defaultdict[tuple[date, str, str], Counter[str]](Counter)
        for day in self.folded.open:
            for served in (each for signals in self._open[day].signals for each in signals.served):
                counts[day, served.task_type, served.model].update(
                    calls=served.calls, input=_TOKENS, cost=served.cost
                )
        for (day, task_type, name), counted in counts.items():
            provider, _, model = name.partition(":")
            cell = CounterCell(
                provider=provider,
                model=model,
                purpose=USE,
                task_type=task_type,
                complexity="simple",
            )
            yield DailyTally(
                agent_id=self.agent.id, day=day.isoformat(), cell=cell, counts=dict(counted)
            )

    def _do(self, change: LearningChange) -> None:
        """Apply a change in memory, as `store_adjustment` does in the store."""
        made = change.adjustment
        self.mind, skill = change.apply(self.mind, self.skills_kept.get(made.subject))
        if skill is not None:
            self.skills_kept[skill.name] = skill
        over = {each.id for each in change.ends}
        self.adjustments = [
            end_adjustment(each, AdjustmentState.SUPERSEDED, made.at, made.id)
            if each.id in over
            else each
            for each in self.adjustments
        ]
        self.adjustments.append(made)

    def _note(self, found: EvidenceSnapshot, day: int, made: Adjustment) -> None:
        """Record the verdict on a skill with its effect at that time."""
        status = self.skills_kept[made.subject].status if made.subject in self.skills_kept else None
        if status in _VERDICTS:
            decision = SkillDecision(
                skill=made.subject,
                verdict=_VERDICTS[status],
                reason=made.reason,
                day=day,
                effect=trial_effects_of_skill(found.posterior, found.evidence, made.subject)[0],
                only=tuple(made.after.get(ONLY, ())),
            )
            self.decisions.append(decision)


def _simulated_subject(task: int) -> str:
    """Return the subject of a type of task's traffic split."""
    return f"{USE.value}/{TASK_TYPES[task]}"


def _alias(name: str) -> str:
    return name.partition(":")[2]


def _choice(name: str, cost: int) -> CandidateModel:
    """Return a candidate model whose price makes an average turn cost `cost` micro-dollars."""
    price = Price(input_per_million=cost * 1_000_000 // _TOKENS, output_per_million=0)
    return CandidateModel(name=name, price=price)


def _is_mix(made: Adjustment) -> bool:
    return made.kind is AdjustmentKind.MODELS and made.state is AdjustmentState.APPLIED
