"""Aim: what an owner lets an agent learn about its models, and to what end."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.value import MicroUsd, Unit, Value


class OptimizationGoal(StrEnum):
    """What the choice of models optimises: cost, quality, latency, or a balance of them."""

    MINIMIZE_COST = "minimize_cost"
    MAXIMIZE_QUALITY = "maximize_quality"
    BALANCE = "balance"
    MINIMIZE_LATENCY = "minimize_latency"


class LearningMode(StrEnum):
    """What the nightly review may do with measurements: nothing, propose a change, or make it."""

    OFF = "off"
    RECOMMEND = "recommend"
    APPLY = "apply"


class Aim(Value):
    """An owner's settings for the choice of models: goal, least quality, cost and exploration.

    `explore` is the share of turns that may use a model other than the best one; 0 turns
    exploration off. `day_micro_usd` is the cost limit of a day; null uses the agent's own day
    limit. With `worded` a model summarises each nightly report in a few sentences. `chosen` says
    that the owner chose `leave` and `explore`: without it, the values of a new agent leave both to
    the installation's settings (`trials.model_percent`).
    """

    leave: LearningMode = LearningMode.RECOMMEND
    goal: OptimizationGoal = OptimizationGoal.BALANCE
    min_quality: Unit = 0.7
    day_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    explore: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    worded: bool = False
    chosen: bool = False

    def with_exploration(self, share: float) -> "Aim":
        """Return the aim that explores and applies what it finds, unless the owner chose, or 0."""
        if self.is_chosen or not share:
            return self
        return self.replaced(leave=LearningMode.APPLY, explore=share)

    @property
    def is_chosen(self) -> bool:
        """True if the owner chose how models are learned; other than a new agent's is a choice."""
        return self.chosen or (self.leave, self.explore) != (LearningMode.RECOMMEND, 0.0)
