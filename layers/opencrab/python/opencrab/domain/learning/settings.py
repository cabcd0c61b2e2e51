"""Trials: the numbers by which agents learn what helps them; every one is a setting."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from opencrab.domain.value import MicroUsd, Value

if TYPE_CHECKING:
    from opencrab.domain.models.optimization import Aim


class TrialSettings(Value):
    """Settings of the experiments by which agents learn what helps them.

    A skill on trial is withheld from at most `skill_percent` of the turns that it fits: from few as
    long as it may help, from nearly all once it seems to harm; 0 switches trials off. Memories are
    withheld from the searches of `memory_percent` of all turns. At most `candidates` skills are on
    trial at once; one without effect is let go after `most_turns`, and nothing is decided before
    `least_turns`.
    Nightly reviews run at `night_hour`, UTC. By day skills are reviewed after each
    `review_sessions` new sessions, never if 0. Only turns in which a skill was given or withheld at
    random count for it: a skill that a model reads by itself does not.

    Of agents whose owner chose nothing about learning, at most `model_percent` of the turns try a
    model other than the best known one; that and what it leads to may add `model_budget_percent` of
    the agent's day budget to a day's cost at most. 0 tries no model.
    """

    skill_percent: Annotated[int, Field(ge=0, le=100)] = 100
    memory_percent: Annotated[int, Field(ge=0, le=50)] = 10
    model_percent: Annotated[int, Field(ge=0, le=50)] = 20
    model_budget_percent: Annotated[int, Field(ge=0, le=100)] = 10
    candidates: Annotated[int, Field(ge=1, le=50)] = 30
    least_turns: Annotated[int, Field(ge=10, le=10_000)] = 30
    most_turns: Annotated[int, Field(ge=30, le=100_000)] = 600
    night_hour: Annotated[int, Field(ge=0, le=23)] = 18
    review_sessions: Annotated[int, Field(ge=0, le=100_000)] = 25

    def aim_of(self, aim: "Aim") -> "Aim":
        """Return what learning aims at: as the owner chose it, else by these settings."""
        return aim.with_exploration(self.model_percent / 100)

    def extra_of_day(self, aim: "Aim", day_micro_usd: MicroUsd) -> MicroUsd | None:
        """Return what learning may add to a day's cost of models; None if the owner chose the aim.

        `day_micro_usd` is the agent's limit of a day.
        """
        return None if aim.is_chosen else day_micro_usd * self.model_budget_percent // 100
