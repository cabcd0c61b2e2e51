"""Pace: how much time a worker has for a turn, and what happens to the turn's queue message."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from opencrab.domain.turn.turn import Turn

SLACK_SECONDS = 15.0


class MessageOutcome(StrEnum):
    """The outcome of a queue message: finished, or given back to the queue for later."""

    FINISHED = "finished"
    CONTINUE = "continue"


@dataclass(frozen=True)
class Pace:
    """The time that a worker has left, and whether its process is stopping; asked between steps.

    `between_steps` gets the turn's header there. On a computer, where one process runs several
    turns, it lets a suspect turn run alone; on AWS it does nothing.
    """

    seconds_left: Callable[[], float] = lambda: float("inf")
    stopping: Callable[[], bool] = lambda: False
    between_steps: Callable[[Turn], None] = lambda _turn: None

    def allows(self, model_timeout_seconds: float) -> bool:
        """Check whether there is time for one more model call."""
        return not self.stopping() and self.seconds_left() >= model_timeout_seconds + SLACK_SECONDS
