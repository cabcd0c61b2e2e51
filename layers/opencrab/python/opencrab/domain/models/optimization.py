"""Aim: what an owner lets an agent learn about its models, and to what end."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.value import MicroUsd, Unit, Value


class Wish(StrEnum):
    """What the choice of models is to be good for."""

    MINIMIZE_COST = "minimize_cost"
    MAXIMIZE_QUALITY = "maximize_quality"
    BALANCE = "balance"
    MINIMIZE_LATENCY = "minimize_latency"


class Leave(StrEnum):
    """What may come of what was measured: nothing, a proposal, or a change."""

    OFF = "off"
    RECOMMEND = "recommend"
    APPLY = "apply"


class Aim(Value):
    """An owner's say: the goal, the least quality, what a day may cost, and how much is tried out.

    `explore` is the share of turns that may go to another model than the one held for best; 0
    tries nothing out. `day_micro_usd` None is the agent's own day. With `worded` a model says in a
    few sentences what each report of the night comes to.
    """

    leave: Leave = Leave.RECOMMEND
    goal: Wish = Wish.BALANCE
    min_quality: Unit = 0.7
    day_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    explore: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    worded: bool = False
