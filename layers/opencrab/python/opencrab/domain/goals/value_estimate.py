"""Value estimates: what a goal is expected to bring, and what it brought."""

from datetime import datetime
from enum import StrEnum

from opencrab.domain.outcome import Outcome
from opencrab.domain.value import MicroUsd, Signed, Unit, Value

ASPIRATIONS, OBJECTIVES = 5, 20
"""The limits of open goals of each horizon."""


class Horizon(StrEnum):
    """The time horizon of a goal; an aspiration is never started, objectives derive from it."""

    ASPIRATION = "aspiration"
    OBJECTIVE = "objective"


class ValueEstimate(Value):
    """Expected values of a goal, 0..1; a null `capability_match` is estimated from past goals."""

    expected_reward: Unit = 0.5
    capability_match: Unit | None = None
    novelty: Unit = 0.5
    social_value: Unit = 0.0


class Satisfaction(Value):
    """Outcome of a goal, which sets the expectations of the next ones (Kingdom 3.9).

    `effort` is the number of turns that it took, `reputation_delta` the change of the agent's
    reputation in its world meanwhile.
    """

    outcome: Outcome
    reward_expected: Unit
    reward_actual: Unit
    reputation_delta: Signed = 0.0
    novelty: Unit
    effort: int
    spent_micro_usd: MicroUsd = 0
    at: datetime
