"""Autonomy: the numbers by which agents live on their own; every one is a setting."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.value import Unit, Value


class Shares(Value):
    """Token limits of the fixed parts of an autonomous turn's prompt (Kingdom 10.6)."""

    rules: int = 2_000
    identity: int = 500
    memory: int = 2_000
    world: int = 1_500
    recent: int = 1_000


class Autonomy(Value):
    """Settings by which agents act on their own.

    A goal with a priority above `goal_threshold` starts without an instruction. Curiosity counts in
    cycles of `cycle_seconds`. An agent sets itself a goal to survive below `survival_percent` of
    the day's budget, or below `survival_balance` in a world. After `warn_after` turns in a row
    without a result the agent's vitals show a warning, after `dormant_after` it becomes dormant.
    `review_seconds` is how often an agent's goals are computed again without a change. The last
    five are for discussions.
    """

    goal_threshold: Annotated[float, Field(ge=0, le=10)] = 0.75
    cycle_seconds: Annotated[int, Field(ge=1, le=10**7)] = 3_600
    survival_percent: Annotated[int, Field(ge=0, le=100)] = 20
    survival_balance: int = 20
    warn_after: Annotated[int, Field(ge=1)] = 3
    dormant_after: Annotated[int, Field(ge=1)] = 10
    review_seconds: Annotated[int, Field(ge=60)] = 3_600
    task_turns: Annotated[int, Field(ge=1, le=20)] = 3
    peer_prior: Unit = 0.5
    shares: Shares = Shares()
    hop_limit: Annotated[int, Field(ge=1, le=50)] = 6
    floor_seconds: Annotated[float, Field(ge=0, le=3_600)] = 2.0
    own_speech_seconds: Annotated[int, Field(ge=0)] = 30
    others_speeches: Annotated[int, Field(ge=0)] = 2
    speech_characters: Annotated[int, Field(ge=1)] = 80

    @property
    def curiosity_interval(self) -> timedelta:
        """The length of one curiosity cycle."""
        return timedelta(seconds=self.cycle_seconds)
