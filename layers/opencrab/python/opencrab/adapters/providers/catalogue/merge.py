"""What an owner changed at run time on top of the configuration, and who of all can be asked.

Stored changes are never trusted to be whole: a part that cannot be meant is left out with a line in
the log, as an installation that cannot think cannot be mended by asking it.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from opencrab.adapters.providers.catalogue.configuration import (
    ModelsSettings,
    ProviderSettings,
    check_catalogue_alias_target,
    check_catalogue_fallback_models,
    provider_catalogue_alias_target,
)
from opencrab.adapters.providers.catalogue.connection import (
    DEFAULT_MODELS,
    catalogue_provider_address,
    missing_catalogue_provider_setting,
)
from opencrab.adapters.providers.wire.address import checked_wire_base_url
from opencrab.domain.access.origin import browser_origin_of_url, key_origin_seal
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import Preferences, ProviderChange
from opencrab.domain.models.routing import Routing
from opencrab.ports.models.model import ModelNotFound

log = logging.getLogger(__name__)

_OTHER_KEY = (
    "the key {0.key_name} is not the one that was stored for this base_url: store it again, as "
    "with PUT /api/llm/providers/{0.name}"
)
ALWAYS_THERE = ProviderSettings(name="scripted", kind="scripted")


def check_catalogue_preferences(settings: ModelsSettings, preferences: Preferences) -> None:
    """Raise Invalid, naming the field, for preferences that these settings do not allow."""
    providers = settings.providers
    for name, change in preferences.providers.items():
        if name not in providers:
            raise Invalid(
                f"there is no provider {name!r}",
                field=f"providers.{name}",
                cure=f"use one of {', '.join(sorted(providers))}",
            )
        apply_catalogue_provider_change(providers[name], change)
    aliases = settings.aliases if preferences.aliases is None else preferences.aliases
    for alias in aliases:
        check_catalogue_alias_target(alias, aliases, providers, f"aliases.{alias}")
    if preferences.fallback is not None:
        check_catalogue_fallback_models(preferences.fallback, aliases, providers, "fallback")


def merge_catalogue_preferences(
    settings: ModelsSettings, preferences: Preferences
) -> ModelsSettings:
    """Return the settings with the owner's preferences applied."""
    providers = dict(settings.providers)
    for name, change in preferences.providers.items():
        if name in providers:
            providers[name] = _apply_change_safely(providers[name], change)
    aliases, fallback = settings.aliases, settings.fallback
    if preferences.aliases is not None:
        aliases = _sound(preferences.aliases, providers)
    if preferences.fallback is not None:
        fallback = preferences.fallback
    return replace(settings, providers=providers, aliases=aliases, fallback=fallback)


def apply_catalogue_provider_change(
    provider: ProviderSettings, change: ProviderChange
) -> ProviderSettings:
    """Return the provider with a change applied; raise Invalid for an unsafe address."""
    base_url, missing = provider.base_url, provider.missing
    if change.base_url is not None:
        base_url = checked_wire_base_url(change.base_url, provider=provider.name)
        # What else than a key is missing, is the address that is given here.
        missing = missing if missing == provider.key_name else ""
    moved = replace(
        provider,
        base_url=base_url,
        configured_url=provider.base_url,
        missing=missing,
        enabled=provider.enabled if change.enabled is None else change.enabled,
        private=provider.private if change.private is None else change.private,
    )
    return _with_own_key(moved, change)


def _with_own_key(provider: ProviderSettings, change: ProviderChange) -> ProviderSettings:
    """Remove the key if it was given for another address.

    Keys and addresses are stored in two places and may be changed at the same time, so the check is
    here, where both are read.
    """
    there = browser_origin_of_url(catalogue_provider_address(provider))
    belongs = change.key_origin or browser_origin_of_url(
        catalogue_provider_address(provider, provider.configured_url)
    )
    if there != belongs:
        lacks_key = provider.missing == provider.key_name
        return replace(provider, api_key="", missing="" if lacks_key else provider.missing)
    if change.key_seal is None or provider.unseen or provider.missing:
        return provider
    if key_origin_seal(there, provider.api_key) == change.key_seal:
        return provider
    return replace(provider, api_key="", problem=_OTHER_KEY.format(provider))


def provider_routing(settings: ModelsSettings) -> Routing:
    """Return the routing, limited to providers that can be used.

    If the default's provider cannot be used, the first fallback model whose provider has a key
    takes its place, or the default model of any other provider with a key. Without one the default
    stays, so that callers learn what is missing.
    """
    usable = _usable(settings)
    reachable = tuple(name for name in settings.fallback if usable(name))
    keyed = (name for name in (*reachable, *_keyed_defaults(settings)) if _has_key(settings, name))
    default = settings.default if usable(settings.default) else next(keyed, "")
    return Routing(
        default=_full_name(settings, default) if default else settings.default,
        uses={use: name for use, name in settings.uses.items() if usable(name)},
        aliases=dict(settings.aliases),
        fallback=reachable,
        manners=dict(settings.manners),
        self_selection=settings.self_selection,
        selectable=tuple(name for name in settings.selectable if name in settings.aliases),
    )


def resolve_catalogue_model(settings: ModelsSettings, name: str) -> tuple[ProviderSettings, str]:
    """Resolve a name to provider and model, whether or not they can be used.

    Raises Invalid, naming what is missing.
    """
    found = provider_catalogue_alias_target(name, settings.aliases, "model")
    provider_name, _, model = found.partition(":")
    known = {"scripted": ALWAYS_THERE, **settings.providers}
    provider = known.get(provider_name)
    if provider is None:
        raise ModelNotFound(
            f"there is no provider {provider_name!r}",
            field="model",
            cure=f"write PROVIDER:MODEL with one of {', '.join(sorted(known))}, or an alias",
        )
    model = model or default_catalogue_model(settings, provider)
    if not model:
        raise Invalid(
            f"provider {provider.name!r} has no default model",
            field="model",
            cure=f"give one, as in '{provider.name}:NAME'",
        )
    return provider, model


def default_catalogue_model(settings: ModelsSettings, provider: ProviderSettings) -> str:
    """Return the model that a provider's name alone stands for; empty if there is none."""
    name, _, model = settings.default.partition(":")
    of_all = model if name == provider.name else ""
    return provider.default_model or of_all or DEFAULT_MODELS.get(provider.kind, "")


def _usable(settings: ModelsSettings) -> Callable[[str], bool]:
    def usable(name: str) -> bool:
        try:
            provider, _ = resolve_catalogue_model(settings, name)
        except Invalid as error:
            log.warning(
                "cannot resolve model, ignoring it: model=%s, error=%s", name, error.message
            )
            return False
        return not missing_catalogue_provider_setting(provider)

    return usable


def _full_name(settings: ModelsSettings, name: str) -> str:
    provider, model = resolve_catalogue_model(settings, name)
    return f"{provider.name}:{model}"


def _keyed_defaults(settings: ModelsSettings) -> Iterator[str]:
    """Yield the default model of each usable provider that has one, as `provider:model`.

    A key was given to be used here; AWS credentials may be there for something else.
    """
    for provider in sorted(settings.providers.values(), key=lambda each: each.signs_by_choice):
        model = default_catalogue_model(settings, provider)
        if model and not missing_catalogue_provider_setting(provider):
            yield f"{provider.name}:{model}"


def _has_key(settings: ModelsSettings, name: str) -> bool:
    provider, _ = resolve_catalogue_model(settings, name)
    return bool(provider.api_key) or provider.signs_by_choice


def _apply_change_safely(provider: ProviderSettings, change: ProviderChange) -> ProviderSettings:
    """Apply a change; disable the provider instead of raising for an unsafe address."""
    try:
        return apply_catalogue_provider_change(provider, change)
    except Invalid as error:
        log.warning(
            "invalid settings, disabling the provider: provider=%s, error=%s",
            provider.name,
            error.message,
        )
        return replace(provider, problem=error.message)


def _sound(aliases: Mapping[str, str], providers: Mapping[str, ProviderSettings]) -> dict[str, str]:
    """Return the aliases that resolve to a model; log and drop the others."""
    sound = {}
    for alias, name in aliases.items():
        try:
            check_catalogue_alias_target(alias, aliases, providers, f"aliases.{alias}")
        except Invalid as error:
            log.warning(
                "invalid model alias, ignoring it: alias=%s, error=%s", alias, error.message
            )
            continue
        sound[alias] = name
    return sound
