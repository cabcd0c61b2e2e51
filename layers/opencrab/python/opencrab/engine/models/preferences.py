"""Model preferences: changes of an owner at run time, validated before they are stored.

Every change creates a new version of one document; workers load it before their next call.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from opencrab.domain.access.origin import browser_origin_of_url, key_origin_seal
from opencrab.domain.access.secret import require_storable_secret
from opencrab.domain.errors import Conflict, Invalid, NotFound, OpenCrabError, Unavailable
from opencrab.domain.models.preferences import PRICES, DatedPrice, Preferences, ProviderChange
from opencrab.domain.models.price_check import Fall, classify_model_prices
from opencrab.domain.models.routing import LlmConfig
from opencrab.engine.models.router import require_sampling_of_agent
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import Models
from opencrab.ports.models.preferences import PreferenceStore, StoredPreferences
from opencrab.ports.models.readiness import ProviderState

ATTEMPTS = 20
"""The most tries of a change without an expected version, while others change it as well."""

Alter = Callable[[Preferences], Preferences]

_NO_ALIASES = "set aliases first with PUT /api/llm/aliases, or leave out selectable"


def current_model_preferences(runtime: Runtime) -> StoredPreferences:
    """Load the stored preferences into this process and return them with their version."""
    stored = runtime.home.preferences.get()
    runtime.models.refresh(stored.version)
    return stored


def require_directory_of_models(directory: ProviderDirectory | None) -> ProviderDirectory:
    """Return the provider directory; raise Unavailable without one."""
    if directory is None:
        raise Unavailable(
            "this process has no providers", cure="use the process that serves the REST API"
        )
    return directory


def change_model_aliases(
    runtime: Runtime, aliases: Mapping[str, str] | None, *, version: int | None = None
) -> StoredPreferences:
    """Replace all aliases; None restores the configured ones.

    Raises Invalid for an alias that is undefined or circular, Conflict when `version` is given and
    is not the stored one.
    """
    kept = None if aliases is None else dict(aliases)

    def alter(old: Preferences) -> Preferences:
        providers = _providers(runtime.directory)
        for name in kept or ():
            resolve_model_reference(name, kept or {}, providers, field=f"aliases.{name}")
        if kept is not None:
            _require_way(old.fallback or (), runtime.models.routing.aliases, kept, providers)
        require_directory_of_models(runtime.directory).check(Preferences(aliases=kept))
        return old.replaced(aliases=kept)

    return change_model_preferences(runtime, alter, version)


def change_model_fallback(
    runtime: Runtime, fallback: Iterable[str] | None, *, version: int | None = None
) -> StoredPreferences:
    """Replace the list of fallback models; None restores the configured one.

    Raises Invalid for a model that is undefined or listed twice, Conflict as
    `change_model_aliases`.
    """
    chain = None if fallback is None else tuple(fallback)

    def alter(old: Preferences) -> Preferences:
        aliases, providers = runtime.models.routing.aliases, _providers(runtime.directory)
        seen: dict[str, str] = {}
        for place, reference in enumerate(chain or ()):
            field = f"fallback.{place}"
            model = resolve_model_reference(reference, aliases, providers, field=field)
            if model in seen:
                raise Invalid(
                    f"{reference!r} is the same model as {seen[model]!r} before it: {model!r}",
                    field=field,
                    cure="list each model once",
                )
            seen[model] = reference
        return old.replaced(fallback=chain)

    return change_model_preferences(runtime, alter, version)


def change_model_provider(
    runtime: Runtime,
    name: str,
    changes: Mapping[str, Any],
    *,
    key: str | None = None,
    version: int | None = None,
) -> StoredPreferences:
    """Change the settings of one provider, and store its key.

    A None in `changes` restores the configured value. A new address for a provider that has a key
    needs the new key, or "" if it takes none. Raises NotFound for a provider that is not
    configured, Invalid for a setting that cannot work, Conflict as `change_model_aliases`, and
    Unavailable when the key cannot be stored.
    """
    known = _provider(runtime.directory, name, changes, key)
    before = ProviderChange()

    def alter(old: Preferences) -> Preferences:
        nonlocal before
        before = old.providers.get(name, ProviderChange())
        change = _with_key(known, before, before.replaced(**changes), key)
        try:
            require_directory_of_models(runtime.directory).check(
                Preferences(providers={name: change})
            )
        except Invalid as error:
            raise Invalid(error.message, field="base_url", cure=error.cure) from error
        return old.replaced(providers={**old.providers, name: change})

    # The new address comes first: until its key is kept, the seal holds the old one back.
    saved = change_model_preferences(runtime, alter, version)
    if not key:
        return saved
    try:
        keep_provider_key(runtime.secrets, known.key_name, key)
    except OpenCrabError:
        _take_back(runtime.home.preferences, runtime.models, name, before, saved)
        raise
    # A worker that looked in between learns of the key by a newer version; anybody's will do.
    with suppress(Conflict):
        change_model_preferences(runtime, lambda preferences: preferences, None)
    return current_model_preferences(runtime)


def change_model_price_preferences(
    runtime: Runtime,
    prices: Mapping[str, DatedPrice | None],
    *,
    allow_lower: bool = False,
    version: int | None = None,
) -> tuple[StoredPreferences, Mapping[str, Fall]]:
    """Store prices that are not older than the stored ones; None deletes a fetched price.

    Prices that fall too far are returned and not stored, unless `allow_lower` is set: a list with a
    mistake in it must not make every model free. Raises Invalid for an unknown provider, a future
    date, and too many prices.
    """
    providers = _providers(runtime.directory)
    latest = (runtime.clock.now() + timedelta(days=1)).date()
    for name, price in prices.items():
        resolve_model_reference(name, {}, providers, field=f"prices.{name}")
        if price is not None and price.as_of > latest:
            raise Invalid(
                f"the price of {name!r} has a date in the future",
                field=f"prices.{name}.as_of",
                cure="use the day on which you read the price",
            )

    refused: Mapping[str, Fall] = {}

    def alter(old: Preferences) -> Preferences:
        nonlocal refused
        new = {
            name: price
            for name, price in prices.items()
            if price and (name not in old.prices or price.as_of >= old.prices[name].as_of)
        }
        known = {name: require_directory_of_models(runtime.directory).price(name) for name in new}
        found = classify_model_prices(new, known, allow_lower=allow_lower)
        refused = found.refused
        forgotten = {name for name, price in prices.items() if price is None}
        kept = {name: price for name, price in old.prices.items() if name not in forgotten}
        kept |= found.taken
        if len(kept) > PRICES:
            raise Invalid(
                f"at most {PRICES} prices are stored; these would be {len(kept)}",
                field="prices",
                cure="send those of models that you use, and null for others",
            )
        return old.replaced(prices=kept)

    return change_model_preferences(runtime, alter, version), refused


def resolve_model_reference(
    reference: str,
    aliases: Mapping[str, str],
    providers: Mapping[str, ProviderState],
    *,
    field: str,
) -> str:
    """Resolve a reference to `provider:model`; raise Invalid if that fails.

    The provider need not be set up.
    """
    way = [reference]
    while (target := aliases.get(way[-1])) is not None:
        if target in way:
            raise Invalid(
                f"the aliases {' → '.join([*way, target])} are circular",
                field=field,
                cure="set one of them to provider:model",
            )
        way.append(target)
    provider, _, model = way[-1].partition(":")
    known = providers.get(provider)
    if known is None:
        raise Invalid(
            f"{way[-1]!r} is neither a provider nor an alias",
            field=field,
            cure=f"write provider:model with one of {', '.join(sorted(providers))}",
        )
    if not model and not known.default_model:
        raise Invalid(
            f"provider {provider!r} has no default model",
            field=field,
            cure=f"give one, as in '{provider}:NAME'",
        )
    return f"{provider}:{model or known.default_model}"


def require_usable_models_of_agent(models: Models, config: LlmConfig, model: str | None) -> None:
    """Raise Invalid unless an agent's models can be used, naming the field at fault."""
    named = {f"models.{use}": name for use, name in config.models.items()}
    for field, name in {**named, **({"model": model} if model else {})}.items():
        try:
            require_usable_model(models, name)
        except Invalid as error:
            raise Invalid(error.message, field=field, cure=error.cure) from error
        if config.private and not models.get(name).info.private:
            raise Invalid(
                f"model {name!r} is not private, but this agent is",
                field=field,
                cure="use a model that runs on your own machines, or set private to false",
            )
    require_sampling_of_agent(models, config, model)
    aliases = models.routing.aliases
    for place, name in enumerate(config.selectable or ()):
        if name not in aliases:
            raise Invalid(
                f"there is no alias {name!r}",
                field=f"selectable.{place}",
                cure=f"use one of {', '.join(sorted(aliases))}" if aliases else _NO_ALIASES,
            )


def change_model_preferences(
    runtime: Runtime, alter: Alter, version: int | None
) -> StoredPreferences:
    """Save what `alter` makes of the preferences; repeat it after a concurrent change."""
    attempts = ATTEMPTS if version is None else 1
    while True:
        attempts -= 1
        stored = current_model_preferences(runtime)
        _require_version(stored, version)
        wanted = alter(stored.preferences)
        try:
            saved = runtime.home.preferences.save(wanted, stored.version)
        except Conflict:
            if not attempts:
                raise
            continue
        runtime.models.refresh(saved.version)
        return saved


def _require_way(
    references: Iterable[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    providers: Mapping[str, ProviderState],
) -> None:
    """Raise Invalid if a reference that could be resolved before no longer can."""
    for reference in references:
        if _leads(reference, before, providers) and not _leads(reference, after, providers):
            raise Invalid(
                f"{reference!r} is part of the fallback and would be undefined",
                field="aliases",
                cure="keep it, or change the fallback first",
            )


def _leads(
    reference: str, aliases: Mapping[str, str], providers: Mapping[str, ProviderState]
) -> bool:
    try:
        resolve_model_reference(reference, aliases, providers, field="")
    except Invalid:
        return False
    return True


def _require_version(stored: StoredPreferences, version: int | None) -> None:
    if version is not None and version != stored.version:
        raise Conflict(
            f"the model preferences are at version {stored.version} now",
            field="If-Match",
            cure="load them again and repeat the change",
        )


def _providers(directory: ProviderDirectory | None) -> dict[str, ProviderState]:
    return {state.name: state for state in require_directory_of_models(directory).providers()}


def _provider(
    directory: ProviderDirectory | None, name: str, changes: Mapping[str, Any], key: str | None
) -> ProviderState:
    """Return the provider to change; raise NotFound, or Invalid if it cannot have this key."""
    known = _providers(directory).get(name)
    if known is None:
        raise NotFound(
            f"there is no provider {name!r}", field="name", cure="see the list of providers"
        )
    if key is not None and not known.key_name:
        raise Invalid(f"provider {name!r} takes no key", field="key", cure="omit it")
    if key == "" and "base_url" not in changes:
        raise Invalid(
            "an empty key is allowed only together with a new base_url",
            field="key",
            cure="give base_url as well, or a key, or omit it",
        )
    if key:
        require_storable_secret(known.key_name, key)
    return known


def _with_key(
    known: ProviderState, before: ProviderChange, change: ProviderChange, key: str | None
) -> ProviderChange:
    """Return the change with the address of its key; raise Invalid if a new key is needed."""
    configured = browser_origin_of_url(known.configured_url)
    there = browser_origin_of_url(change.base_url or known.configured_url)
    if key:
        if there == configured and before.key_origin is None:
            return change
        return change.replaced(key_origin=there, key_seal=key_origin_seal(there, key))
    moved = there != browser_origin_of_url(before.base_url or known.configured_url)
    if moved and key is None and known.has_key and there != (before.key_origin or configured):
        raise Invalid(
            f"the key of provider {known.name!r} belongs to an address other than {there}",
            field="key",
            cure='send the key for the new address as well, or key "" if it needs none',
        )
    return change


def _take_back(
    preferences: PreferenceStore,
    models: Models,
    name: str,
    before: ProviderChange,
    saved: StoredPreferences,
) -> None:
    """Restore a provider's settings after its key could not be stored, unless changed since.

    A provider that gets its first seal keeps the new address, without a key: whether the new key
    was stored is unknown, and nothing would keep it from being sent to the old address.
    """
    change = saved.preferences.providers.get(name)
    if change is None or before == change or (change.key_seal and not before.key_seal):
        return
    providers = {**saved.preferences.providers, name: before}
    with suppress(OpenCrabError):
        again = preferences.save(saved.preferences.replaced(providers=providers), saved.version)
        models.refresh(again.version)


def keep_provider_key(secrets: Secrets | None, name: str, key: str) -> None:
    """Store a provider's key; raises Unavailable if this process cannot."""
    if secrets is None:
        raise Unavailable(
            f"this process cannot store the secret {name!r}",
            cure="set it in the installation's secret store",
        )
    secrets.put(name, key)


def require_usable_model(models: Models, name: str | None) -> None:
    """Raise Invalid unless a model can be used here, saying what is missing."""
    if name is None:
        return
    try:
        models.get(name)
    except Invalid as error:
        raise Invalid(error.message, field="model", cure=error.cure) from error
