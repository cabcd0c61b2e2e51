"""What was drawn from a day's budget."""

from typing import Protocol

from opencrab.domain.value import MicroUsd


class Budgets(Protocol):
    """Daily budgets; only the journal's transactions change them."""

    def drawn(self, scope: str, day: str) -> MicroUsd:
        """Micro-dollars drawn and not given back."""
