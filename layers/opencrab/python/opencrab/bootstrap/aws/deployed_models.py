"""Models of a function: created at their first use, and read again as keys and settings change."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from opencrab import settings
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.models.model import CallUsage, ChatModel, Embedder, ModelInfo, ModelNotFound
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.ports.models.readiness import ProviderHealth, ProviderState

if TYPE_CHECKING:
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.adapters.providers.transport.exchange import Transport
    from opencrab.settings import Settings

T = TypeVar("T")

_FRESH = timedelta(minutes=5)


class DeployedModels:
    """`ports.models.model.Models` and `ProviderDirectory`, created at their first use.

    Most functions never use them. `keyed`, which reads the secrets store, is used only where it
    matters which providers have a key; `models` serves the rest.

    `look_early` asks for new settings when a name is unknown, since the function that accepted the
    name may have read them sooner; it returns False if that was done for this event already.
    """

    def __init__(
        self,
        models: Callable[[], "ProviderModels"],
        keyed: Callable[[], "ProviderModels"] | None = None,
        *,
        look_early: Callable[[], bool] = lambda: False,
    ) -> None:
        self._look_early = look_early
        self._models = _Later(models)
        self._keyed = self._models if keyed is None else _Later(keyed)

    @property
    def routing(self) -> Routing:
        return self._keyed.get().routing

    def get(self, name: str | None) -> ChatModel:
        return self._find(self._models, lambda models: models.get(name))

    def refresh(self, version: int) -> None:
        for later in {self._models, self._keyed}:
            if later.made is not None:
                later.made.refresh(version)

    def price(self, name: str) -> Price | None:
        return self._models.get().price(name)

    def check(self, preferences: Preferences) -> None:
        self._models.get().check(preferences)

    def check_new(self, name: str, base_url: str) -> None:
        self._models.get().check_new(name, base_url)

    def infos(self, also: Iterable[str] = ()) -> tuple[ModelInfo, ...]:
        return self._keyed.get().infos(also)

    def providers(self) -> tuple[ProviderState, ...]:
        return self._keyed.get().providers()

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        return self._keyed.get().health(provider, timeout_seconds=timeout_seconds)

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        return self._keyed.get().readiness(
            providers, wait_seconds=wait_seconds, newer_than_seconds=newer_than_seconds
        )

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        directory = self._keyed.get()
        return directory.call_usage(provider, call_id, timeout_seconds=timeout_seconds)

    def embedder(self, name: str | None) -> Embedder:
        return self._find(self._keyed, lambda models: models.embedder(name))

    def _find(self, later: "_Later", find: "Callable[[ProviderModels], T]") -> T:
        """Find what a name stands for; read everything again, once, if it is unknown."""
        try:
            return find(later.get())
        except ModelNotFound:
            if not self._look_early():
                raise
        for each in {self._models, self._keyed}:
            if each.made is not None:
                each.made.reload()
        return find(later.get())


class _Later:
    """Models that are created at their first use."""

    def __init__(self, make: Callable[[], "ProviderModels"]) -> None:
        self._make = make
        self.made: ProviderModels | None = None

    def get(self) -> "ProviderModels":
        """Return the models, creating them once; concurrent first calls may create equal copies."""
        if self.made is None:
            self.made = self._make()
        return self.made


def models_of_lambda(
    secrets: Secrets | None,
    stored: Callable[[], StoredPreferences],
    now: Callable[[], datetime],
    advice: str = "store {} where the workers read it",
    load: Callable[..., "Settings"] = settings.load_settings,
) -> "ProviderModels":
    """Create the models of an installation, with keys from its secrets store.

    Settings and keys are read again after five minutes, so that a new key needs no deployment.
    Without `secrets` every key is taken to be set, which is enough to list models.
    """
    from opencrab.adapters.providers.registry import ProviderModels

    return ProviderModels(
        lambda: aws_models_from_settings(load, secrets),
        aws_transport_of_process,
        stored=stored,
        now=now,
        keep_for=_FRESH,
        advice=advice,
    )


@cache
def aws_transport_of_process() -> "Transport":
    """Return one HTTP transport per process, so that its connections are reused between turns."""
    from opencrab.adapters.providers.transport.http_connections import HttpConnections
    from opencrab.adapters.providers.transport.http_transport import HttpTransport

    return HttpTransport(HttpConnections())
