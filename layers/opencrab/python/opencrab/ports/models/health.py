"""How providers fare, shared by all workers so that each need not find out by itself."""

from typing import Protocol

from opencrab.domain.models.health import BreakerState


class ProviderHealths(Protocol):
    """Circuit breakers of providers, shared by all workers; no money or message depends on them."""

    def all(self) -> dict[str, BreakerState]:
        """Return the state of every provider with recent failures."""

    def put(self, provider: str, health: BreakerState, before: BreakerState | None) -> bool:
        """Store a provider's state if the stored one is `before`; returns False if it is not."""

    def forget(self, provider: str) -> None:
        """Remove a provider's state after a successful answer."""
