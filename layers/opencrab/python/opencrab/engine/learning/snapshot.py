"""Findings: what is known of an agent when its night is looked at, and what follows rests on."""

from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.learning.model_selection import CandidateModel, SelectionInput
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.routing import Routing
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.value import MicroUsd
from opencrab.engine.learning.aggregation import AggregatedEvidence
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class EvidenceSnapshot:
    """An agent and what is known of it.

    `at` is when this night's run began first, so that a repeat comes to the same; `tallies` are
    those of the open days. `recent` are its adjustments of late, newest first, and `choices` the
    models that it may choose, by alias. Nothing is changed about an agent that is `frozen`.
    """

    agent: Agent
    mind: AgentState
    skills: tuple[AcquiredSkill, ...]
    folded: AggregatedEvidence
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
        """All that is known."""
        return self.folded.evidence

    @property
    def changes(self) -> bool:
        """Whether anything may follow from what is known."""
        return self.agent.answers and not self.frozen

    def ground(self) -> SelectionInput:
        """What a choice of models rests on."""
        return SelectionInput(
            agent=self.agent,
            mind=self.mind,
            routing=self.routing,
            evidence=self.evidence,
            days=tuple(self.folded.open.values()),
            tallies=self.tallies,
            choices=self.choices,
            earlier=self.recent,
            day_micro_usd=self.day_micro_usd,
        )


@dataclass(frozen=True, kw_only=True)
class NightlyContext(EvidenceSnapshot):
    """Findings with where they come from, and where what follows from them goes."""

    runtime: Runtime
