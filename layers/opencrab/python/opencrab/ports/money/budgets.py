"""Budgets: what was drawn from a day's, and the limits that were set at run time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from opencrab.domain.value import MicroUsd


class Budgets(Protocol):
    """Daily budgets; only the journal's transactions change what was drawn."""

    def drawn_micro_usd(self, scope: str, day: str) -> MicroUsd:
        """Return the micro-dollars drawn and not given back."""

    def return_unspent(self, now: datetime) -> int:
        """Return to the budgets what processes reserved for their turns and did not use in time.

        Returns how many such reservations ended; where there are none, 0.
        """

    def limits(self) -> dict[str, MicroUsd]:
        """Return limits set at run time, by the field of `domain.money.budget.Limits`.

        All others are as configured; 0 for a session means that it has no limit.
        """

    def change_limits(self, changes: Mapping[str, MicroUsd | None]) -> None:
        """Set the named limits, each by itself; None returns one to the configured limit.

        The next reservation of every turn uses them. A session that had no limit has its first one
        from its next turn on. Raises Invalid, and changes nothing, for an unknown name or an
        impossible amount.
        """
