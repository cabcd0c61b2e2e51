"""The directory of models and providers, for people rather than for turns."""

from collections.abc import Iterable
from typing import Protocol

from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import Price
from opencrab.ports.models.model import CallUsage, Embedder, ModelInfo
from opencrab.ports.models.readiness import ProviderHealth, ProviderState, Readiness


class ProviderDirectory(Readiness, Protocol):
    """Queries about models and providers, for people rather than for turns."""

    def infos(self, also: Iterable[str] = ()) -> tuple[ModelInfo, ...]:
        """Return all known models, and those of `also` (`provider:model`), sorted by name."""

    def providers(self) -> tuple[ProviderState, ...]:
        """Return all providers, sorted by name."""

    def price(self, name: str) -> Price | None:
        """Return the price of a `provider:model`, configured or not; None if unknown."""

    def check(self, preferences: Preferences) -> None:
        """Raise Invalid if providers could not work with these preferences."""

    def check_new(self, name: str, base_url: str) -> None:
        """Raise Invalid if a provider that is added must not have this address."""

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        """Check a provider by listing its models, which is free; raises NotFound."""

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        """Ask a provider what it counted for a call; `call_id` is the provider's own, or ""."""

    def embedder(self, name: str | None) -> Embedder:
        """Return the model of use `embedding`, or the named one; raises Invalid."""
