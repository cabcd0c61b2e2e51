"""The models that an installation can think with, made on demand from its settings."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import RLock

from pydantic import ValidationError

from opencrab.adapters.providers.catalogue import connection
from opencrab.adapters.providers.catalogue.configuration import (
    SCRIPTED,
    ModelsSettings,
    ProviderSettings,
)
from opencrab.adapters.providers.catalogue.merge import (
    ALWAYS_THERE,
    check_catalogue_preferences,
    default_catalogue_model,
    merge_catalogue_preferences,
    provider_routing,
    resolve_catalogue_model,
)
from opencrab.adapters.providers.catalogue.model_facts import ModelFacts, ModelSettings
from opencrab.adapters.providers.catalogue.model_info import catalogue_model_info, known_model_info
from opencrab.adapters.providers.readiness import ProviderReadiness
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.wire.address import checked_wire_base_url
from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.models.routing import Routing, Use
from opencrab.domain.money.budget import Price
from opencrab.ports.models.model import SETTLE_BY_HAND, CallUsage, ChatModel, Embedder, ModelInfo
from opencrab.ports.models.preferences import StoredPreferences
from opencrab.ports.models.readiness import ProviderHealth, ProviderState

log = logging.getLogger(__name__)

AGAIN = timedelta(seconds=30)
"""How long to go on with what is known before reading again, after reading failed."""


def no_provider_settings() -> StoredPreferences:
    """Return empty preferences, for an installation that stores none."""
    return StoredPreferences(Preferences())


@dataclass(frozen=True)
class _Reading:
    """One reading of configuration and preferences, and the models created from it."""

    settings: ModelsSettings
    stored: StoredPreferences
    routing: Routing
    facts: ModelFacts
    made: dict[str, ChatModel] = field(default_factory=dict)


class ProviderModels:
    """`Models` and `ProviderDirectory`: models by `provider:model`, provider or alias.

    Settings and preferences are read when the first model is needed, again for each newer version
    of the preferences, when `stamp` returns something else, and after `keep_for`. A reading
    replaces the last one whole; if it fails, the last one stays in use. Models are cached until
    something changes, and the transport is created when the first model needs it.
    """

    def __init__(
        self,
        configured: Callable[[], ModelsSettings],
        transport: Callable[[], Transport],
        *,
        stored: Callable[[], StoredPreferences] = no_provider_settings,
        now: Callable[[], datetime] | None = None,
        keep_for: timedelta | None = None,
        advice: str = "set the environment variable {}",
        stamp: Callable[[], object] | None = None,
    ) -> None:
        self._configured = configured
        self._transport = transport
        self._stored = stored
        self._now = now
        self._keep_for = keep_for
        self._advice = advice
        self._stamp = stamp
        self._seen: object = None
        self._lock = RLock()
        self._reading: _Reading | None = None
        self._until: datetime | None = None
        self._readiness = ProviderReadiness(self._health)

    @property
    def routing(self) -> Routing:
        return self._current().routing

    def get(self, name: str | None) -> ChatModel:
        reading = self._current()
        provider, model = self._able(reading, name or reading.routing.default)
        full_name = f"{provider.name}:{model}"
        with self._lock:
            if full_name not in reading.made:
                reading.made[full_name] = self._make(reading, provider, model)
            return reading.made[full_name]

    def refresh(self, version: int) -> None:
        reading = self._reading
        if reading is None or version <= reading.stored.version:
            return
        with self._lock:
            # Whoever waited here may find that another has read it meanwhile.
            if self._reading is None or version > self._reading.stored.version:
                self._read_again()

    def infos(self, also: Iterable[str] = ()) -> tuple[ModelInfo, ...]:
        reading = self._current()
        settings = reading.settings
        named = {*settings.uses.values(), *settings.aliases.values(), *settings.fallback}
        able = {
            each.name
            for each in self._known(reading)
            if not connection.missing_catalogue_provider_setting(each)
        }
        listed = {
            name
            for name in reading.facts.names()
            if name in settings.models or name.partition(":")[0] in able
        }
        infos: dict[str, ModelInfo] = {}
        for name in {settings.default, reading.routing.default, SCRIPTED, *named, *listed, *also}:
            try:
                provider, model = resolve_catalogue_model(settings, name)
            except Invalid:
                continue
            info = self._info(reading, provider, model)
            infos[info.name] = info
        return tuple(infos[name] for name in sorted(infos))

    def providers(self) -> tuple[ProviderState, ...]:
        reading = self._current()
        return tuple(
            ProviderState(
                name=each.name,
                kind=each.kind,
                base_url=connection.catalogue_provider_address(each),
                enabled=each.enabled,
                private=connection.catalogue_provider_stays_private(each),
                has_key=bool(each.api_key),
                missing=connection.missing_catalogue_provider_key(each)
                or connection.missing_catalogue_provider_setting(each),
                default_model=default_catalogue_model(reading.settings, each),
                key_name="" if each.kind == "scripted" else each.key_name,
                configured_url=connection.catalogue_provider_address(each, each.configured_url),
            )
            for each in sorted(self._known(reading), key=lambda each: each.name)
        )

    def price(self, name: str) -> Price | None:
        reading = self._current()
        try:
            return self._info(reading, *resolve_catalogue_model(reading.settings, name)).price
        except Invalid:
            return None

    def check(self, preferences: Preferences) -> None:
        check_catalogue_preferences(self._current().settings, preferences)

    def check_new(self, name: str, base_url: str) -> None:
        checked_wire_base_url(base_url, provider=name)

    def health(self, provider: str, *, timeout_seconds: float) -> ProviderHealth:
        known = {each.name: each for each in self._known(self._current())}
        if provider not in known:
            raise NotFound(
                f"there is no provider {provider!r}",
                field="provider",
                cure="`opencrab models providers` lists them",
            )
        return self._health(known[provider], timeout_seconds)

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        names = None if providers is None else set(providers)
        usable = (
            each
            for each in self._known(self._current())
            if (names is None or each.name in names)
            and not connection.missing_catalogue_provider_setting(each)
        )
        return self._readiness.answers(
            usable, wait_seconds=wait_seconds, newer_than_seconds=newer_than_seconds
        )

    def reload(self) -> None:
        """Read the configuration again, since something outside it has changed."""
        with self._lock:
            if self._reading is not None:
                self._read_again()

    def _health(self, settings: ProviderSettings, timeout_seconds: float) -> ProviderHealth:
        scripted = settings.kind == "scripted"
        try:
            self._require(settings)
            if not scripted:
                connection.address_of_provider(settings)
        except Invalid as error:
            return ProviderHealth(
                ok=False, latency_ms=0, problem=error.message, cure=error.cure or ""
            )
        if scripted:
            model = settings.default_model or connection.DEFAULT_MODELS[settings.kind]
            return ProviderHealth(ok=True, latency_ms=0, models=(model,))
        return connection.catalogue_provider_health(settings, self._transport(), timeout_seconds)

    def call_usage(self, provider: str, call_id: str, *, timeout_seconds: float) -> CallUsage:
        known = {each.name: each for each in self._known(self._current())}
        if provider not in known:
            problem = f"there is no provider {provider!r} any more"
            return CallUsage(None, problem, SETTLE_BY_HAND)
        settings = known[provider]
        if settings.kind == "scripted":
            return CallUsage(None, f"{provider} has no usage lookup", SETTLE_BY_HAND)
        try:
            self._require(settings)
            connection.address_of_provider(settings)
        except Invalid as error:
            return CallUsage(None, error.message, error.cure or "")
        return connection.provider_call_usage(settings, call_id, self._transport(), timeout_seconds)

    def embedder(self, name: str | None) -> Embedder:
        reading = self._current()
        wanted = name or reading.routing.uses.get(Use.EMBEDDING)
        wanted = wanted or reading.settings.uses.get(Use.EMBEDDING)
        if wanted is None:
            raise Invalid(
                "no embedding model is configured",
                field="model",
                cure="set embedding in [llm.models]",
            )
        provider, model = self._able(reading, wanted)
        info = self._info(reading, provider, model)
        with _unusable():
            return connection.build_catalogue_embedder(provider, model, info, self._transport())

    def _current(self) -> _Reading:
        reading = self._reading
        if reading is not None and not self._is_old():
            return reading
        with self._lock:
            if self._reading is None:
                return self._read()
            if self._is_old():
                self._read_again()
            return self._reading

    def _is_old(self) -> bool:
        if self._stamp is not None and self._stamp() != self._seen:
            return True
        return self._until is not None and self._now is not None and self._now() >= self._until

    def _read_again(self) -> None:
        """Read settings and preferences again; keep the last reading if that fails."""
        try:
            self._read()
        except OpenCrabError as error:
            log.warning(
                "cannot reload model settings, keeping the current ones: error=%s", error.message
            )
            if self._now is not None:
                self._until = self._now() + AGAIN

    def _read(self) -> _Reading:
        # First, so that what changes meanwhile is read again, and what is wrong is read once.
        self._seen = None if self._stamp is None else self._stamp()
        stored = self._stored_now()
        settings = merge_catalogue_preferences(self._configured(), stored.preferences)
        facts = ModelFacts(settings.models, settings.listing, stored.preferences.prices)
        before = self._reading
        made = {}
        if before is not None and before.settings == settings and before.facts == facts:
            made = before.made
        self._reading = _Reading(settings, stored, provider_routing(settings), facts, made)
        if self._now is not None and self._keep_for is not None:
            self._until = self._now() + self._keep_for
        return self._reading

    def _stored_now(self) -> StoredPreferences:
        try:
            return self._stored()
        except (Invalid, ValidationError) as error:
            problem = error.message if isinstance(error, Invalid) else _validation_message(error)
            log.error("stored model preferences are invalid, ignoring them: error=%s", problem)  # noqa: TRY400
            return no_provider_settings()

    def _known(self, reading: _Reading) -> tuple[ProviderSettings, ...]:
        known = {ALWAYS_THERE.name: ALWAYS_THERE, **reading.settings.providers}
        return tuple(known.values())

    def _able(self, reading: _Reading, name: str) -> tuple[ProviderSettings, str]:
        provider, model = resolve_catalogue_model(reading.settings, name)
        self._require(provider)
        return provider, model

    def _require(self, provider: ProviderSettings) -> None:
        problem = connection.missing_catalogue_provider_setting(provider)
        if not problem:
            return
        variable = connection.missing_catalogue_provider_key(provider)
        if not provider.enabled:
            raise Invalid(
                f"provider {provider.name!r} is disabled",
                field="model",
                cure="see `opencrab models providers`, and choose another model or enable it",
            )
        cure = self._advice.format(variable) if variable else None
        raise Invalid(
            f"provider {provider.name!r} is not set up: {problem}",
            field="model",
            cure=cure or f"see [llm.providers.{provider.name}] and `opencrab models providers`",
        )

    def _make(self, reading: _Reading, provider: ProviderSettings, model: str) -> ChatModel:
        info = self._info(reading, provider, model)
        if provider.kind == "scripted":
            return connection.build_catalogue_scripted_model(provider, info)
        connection.address_of_provider(provider)
        if self._known_of(reading, provider, model).chat is False:
            raise Invalid(
                f"{info.name!r} is offered by its vendor over another interface only, which is not "
                "supported",
                field="model",
                cure="choose another model, or set chat = true for it in config/pricing.toml",
            )
        with _unusable():
            return connection.build_catalogue_chat_model(provider, model, info, self._transport())

    def _info(self, reading: _Reading, provider: ProviderSettings, model: str) -> ModelInfo:
        return catalogue_model_info(provider, model, self._known_of(reading, provider, model))

    def _known_of(self, reading: _Reading, provider: ProviderSettings, model: str) -> ModelSettings:
        return known_model_info(reading.settings, reading.facts, provider, model)


@contextmanager
def _unusable() -> Iterator[None]:
    """Turn Refused, raised for a key that no header can carry, into Invalid."""
    try:
        yield
    except Refused as error:
        raise Invalid(error.message, field="model", cure=error.cure) from error


def _validation_message(error: ValidationError) -> str:
    """Return how many validation errors there are, without quoting the document."""
    return f"{error.error_count()} validation errors"
