"""Budgets: what was drawn from a day's, and the limits that were set at run time."""

from typing import Protocol

from opencrab.domain.money import Limits
from opencrab.domain.value import MicroUsd


class Budgets(Protocol):
    """Daily budgets; only the journal's transactions change what was drawn."""

    def drawn(self, scope: str, day: str) -> MicroUsd:
        """Micro-dollars drawn and not given back."""

    def limits(self) -> Limits | None:
        """The limits that were set while the installation runs; None leaves the configured ones."""

    def set_limits(self, limits: Limits | None) -> None:
        """Set all limits; the next reservation of every turn goes by them.

        A session that had no limit has its first one from its next turn on.
        """
