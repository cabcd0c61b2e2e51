"""How providers fare, shared by all workers so that each need not find out by itself."""

from typing import Protocol

from opencrab.domain.models.health import BreakerState


class ProviderHealths(Protocol):
    """The health of providers; advice only: no money and no message depends on it."""

    def all(self) -> dict[str, BreakerState]:
        """Every provider of which something bad is known."""

    def put(self, provider: str, health: BreakerState, before: BreakerState | None) -> bool:
        """Keep a provider's health if it still is `before`; False when others were faster."""

    def forget(self, provider: str) -> None:
        """It answered: nothing bad is known any more."""
