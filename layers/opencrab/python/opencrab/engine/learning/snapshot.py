"""Snapshot of an agent and its evidence, on which a nightly run bases its decisions."""

from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.learning.model_selection import SelectionInput
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.optimization import Aim
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.value import MicroUsd
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class EvidenceSnapshot(SelectionInput):
    """An agent with its evidence and settings.

    `at` is when this run was first started, so that a retry decides the same. Nothing is changed
    about an agent that is `frozen`.
    """

    skills: tuple[AcquiredSkill, ...]
    at: datetime
    period: str
    frozen: bool
    trials: TrialSettings

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


@dataclass(frozen=True, kw_only=True)
class NightlyContext(EvidenceSnapshot):
    """A snapshot with the runtime to read from and write to."""

    runtime: Runtime
