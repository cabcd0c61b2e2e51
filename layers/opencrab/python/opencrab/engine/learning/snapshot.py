"""Snapshot of an agent and its evidence, on which a nightly run bases its decisions."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.model_selection import CandidateModel, SelectionInput
from opencrab.domain.learning.reward_model import RewardPosterior, prior_prices, reward_posterior
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.optimization import Aim
from opencrab.domain.models.routing import Routing
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.value import MicroUsd
from opencrab.engine.learning.aggregation import AggregatedEvidence
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class EvidenceSnapshot:
    """An agent with its evidence and settings.

    `at` is when this run was first started, so that a retry decides the same; `tallies` are those
    of the open days. `recent` are its recent adjustments, newest first, and `choices` the models
    that it may choose, by alias. Nothing is changed about an agent that is `frozen`.
    """

    agent: Agent
    mind: AgentState
    skills: tuple[AcquiredSkill, ...]
    aggregated: AggregatedEvidence
    tallies: tuple[DailyTally, ...]
    recent: tuple[Adjustment, ...]
    at: datetime
    period: str
    frozen: bool
    trials: TrialSettings
    routing: Routing
    choices: dict[str, CandidateModel]
    day_micro_usd: MicroUsd

    @property
    def evidence(self) -> Evidence:
        """Total evidence of all days of the snapshot."""
        return self.aggregated.evidence

    @cached_property
    def posterior(self) -> RewardPosterior:
        """What is believed of models and skills after all days of the snapshot."""
        prices = {each.name: each.price for each in self.choices.values()}
        return reward_posterior(self.aggregated.reward_sums, prior_prices(prices))

    @property
    def changes(self) -> bool:
        """True if the run may change or propose anything."""
        return self.agent.answers and not self.frozen

    @property
    def aim(self) -> Aim:
        """What learning aims at: as the owner chose it, else by the settings."""
        return self.trials.aim_of(self.agent.llm.aim)

    @property
    def extra_micro_usd(self) -> MicroUsd | None:
        """What learning may add to a day's cost; None if the owner chose how models are learned."""
        return self.trials.extra_of_day(self.agent.llm.aim, self.day_micro_usd)

    def selection_input(self) -> SelectionInput:
        """Return the input of the selection of models."""
        return SelectionInput(
            agent=self.agent,
            mind=self.mind,
            routing=self.routing,
            evidence=self.evidence,
            days=tuple(self.aggregated.open.values()),
            tallies=self.tallies,
            choices=self.choices,
            earlier=self.recent,
            day_micro_usd=self.day_micro_usd,
            worths=self.aggregated.reward_sums,
        )


@dataclass(frozen=True, kw_only=True)
class NightlyContext(EvidenceSnapshot):
    """A snapshot with the runtime to read from and write to."""

    runtime: Runtime
