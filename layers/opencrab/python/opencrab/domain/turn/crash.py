"""Crash: what follows from a process's death for the turns that it was working on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.turn.turn import Turn


@dataclass(frozen=True)
class CrashRule:
    """The rule for counting process deaths against turns and holding back suspects.

    Several turns run in one process, and from outside a turn that kills it looks like those that
    ran beside it, or like somebody's `kill -9`. So the first death makes suspects of all and counts
    against nobody. From then on suspects run alone: the death of one is its own. It counts as a
    delivery where the turn had its fair time, in which any model call would have returned; a
    quicker one, which may still be an operator's, only lengthens the pause before the next attempt.

    Args:
        fair_seconds: After so long in one step a death is no accident of a restart.
        lease_seconds: From the last write of a header to the end of its lease.
        pause_seconds: How long a new suspect is kept back after a start; doubled by each death.
        longest_pause_seconds: Where the doubling ends.
    """

    fair_seconds: float = 120.0
    lease_seconds: float = 300.0
    pause_seconds: float = 2.0
    longest_pause_seconds: float = 300.0

    def turns_after_crash(self, running: Iterable[Turn], died_at: datetime) -> tuple[Turn, ...]:
        """Return the headers of the turns that were running when their process died."""
        turns = tuple(running)
        was_alone = any(turn.is_suspect for turn in turns)
        return tuple(self._judged(turn, died_at, was_alone=was_alone) for turn in turns)

    def start_delay(self, turn: Turn) -> timedelta:
        """Return how long a turn is held back after a start; 0 for one that is no suspect."""
        if not turn.is_suspect:
            return timedelta()
        doublings = min(turn.crashes - 1, 32)
        seconds = min(self.pause_seconds * 2**doublings, self.longest_pause_seconds)
        return timedelta(seconds=seconds)

    def _judged(self, turn: Turn, died_at: datetime, *, was_alone: bool) -> Turn:
        # Who stood between two steps while a suspect ran alone has nothing to do with its end.
        involved = turn.is_suspect or not was_alone
        counts = turn.is_suspect and self._seconds(turn, died_at) >= self.fair_seconds
        return turn.replaced(
            crashes=turn.crashes + involved,
            deliveries=turn.deliveries if counts else max(turn.deliveries - 1, 0),
        )

    def _seconds(self, turn: Turn, died_at: datetime) -> float:
        """Return how long the step ran, 0 without a lease; an extended lease makes it shorter."""
        if turn.lease_until is None:
            return 0.0
        began = turn.lease_until - timedelta(seconds=self.lease_seconds)
        return (died_at - began).total_seconds()


CRASH_RULE = CrashRule()
