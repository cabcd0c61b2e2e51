"""Pace: how much time a worker has for a turn, and what became of the message that named it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from opencrab.domain.turn.turn import Turn

SLACK_SECONDS = 15.0


class MessageOutcome(StrEnum):
    """What the caller does with the message: it is finished, or it was given back for later."""

    FINISHED = "finished"
    CONTINUE = "continue"


@dataclass(frozen=True)
class Pace:
    """How much time there is, and whether the process wants to end; both asked between steps.

    `between_steps` is told the header there: a home that runs several turns in one process lets a
    suspect run alone. Where each has a process of its own there is nothing to do.
    """

    seconds_left: Callable[[], float] = lambda: float("inf")
    stopping: Callable[[], bool] = lambda: False
    between_steps: Callable[[Turn], None] = lambda _turn: None

    def allows(self, model_timeout_seconds: float) -> bool:
        """Whether one more model call fits."""
        return not self.stopping() and self.seconds_left() >= model_timeout_seconds + SLACK_SECONDS
