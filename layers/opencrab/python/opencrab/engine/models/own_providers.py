"""Providers that an owner adds over REST: one document, read together with the settings.

The address of a new provider is sealed with its key as that of a moved one is: a key that was
stored for an earlier provider of the same name is not sent to it.
"""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.access.origin import browser_origin_of_url, key_origin_seal
from opencrab.domain.access.secret import require_storable_secret
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound
from opencrab.domain.models.own_provider import (
    OwnProvider,
    OwnProviders,
    own_provider_key_name,
)
from opencrab.domain.models.preferences import PROVIDERS, Preferences, ProviderChange
from opencrab.engine.models.own_provider_document import (
    own_model_providers,
    stored_own_model_providers,
)
from opencrab.engine.models.preferences import (
    change_model_preferences,
    change_model_provider,
    current_model_preferences,
    keep_provider_key,
    require_directory_of_models,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.models.preferences import StoredPreferences


def add_model_provider(
    runtime: Runtime,
    name: str,
    provider: OwnProvider,
    change: ProviderChange,
    *,
    key: str | None = None,
    version: int | None = None,
) -> StoredPreferences:
    """Add a provider, and store its key.

    Raises Conflict if there is one of this name or `version` is not that of the preferences,
    Invalid for an address that is unsafe or a key that cannot be stored.
    """
    directory = require_directory_of_models(runtime.directory)
    current_model_preferences(runtime)
    if any(each.name == name for each in directory.providers()):
        raise Conflict(f"there is a provider {name!r} already", cure="leave out kind to change it")
    directory.check_new(name, provider.base_url)
    if key:
        require_storable_secret(own_provider_key_name(name), key)
    there = browser_origin_of_url(provider.base_url)
    sealed = change.replaced(key_origin=there, key_seal=key_origin_seal(there, key or ""))

    def alter(old: Preferences) -> Preferences:
        return old.replaced(providers={**old.providers, name: sealed})

    # The seal comes first, and the key last: until both are there, the provider cannot be used.
    change_model_preferences(runtime, alter, version)
    if key:
        keep_provider_key(runtime.secrets, own_provider_key_name(name), key)
    _change(runtime.home.facts, name, provider)
    return _seen_by_all(runtime)


def change_own_model_provider(
    runtime: Runtime,
    name: str,
    changes: Mapping[str, Any],
    *,
    kind: str | None,
    default_model: str | None,
    key: str | None = None,
    version: int | None = None,
) -> StoredPreferences:
    """Change an added provider, as `change_model_provider` does; None leaves kind or model.

    Raises Invalid for a provider of the configuration. If it raises, nothing was changed.
    """
    known = own_model_providers(runtime.home.facts).providers.get(name)
    if known is None:
        raise Invalid(
            f"kind and default_model of provider {name!r} are set in the settings file",
            field="default_model" if kind is None else "kind",
            cure=f"set llm.providers.{name}.default_model there, or leave it out",
        )
    given = {"kind": kind, "default_model": default_model}
    wanted = OwnProvider.model_validate(
        known.model_dump() | {field: value for field, value in given.items() if value is not None}
    )
    saved = change_model_provider(runtime, name, changes, key=key, version=version)
    if wanted == known:
        return saved
    _change(runtime.home.facts, name, wanted)
    return _seen_by_all(runtime)


def remove_model_provider(
    runtime: Runtime, name: str, *, version: int | None = None
) -> StoredPreferences:
    """Remove an added provider; raises NotFound, and Invalid for one of the configuration."""
    if name not in own_model_providers(runtime.home.facts).providers:
        current_model_preferences(runtime)
        known = require_directory_of_models(runtime.directory).providers()
        if any(each.name == name for each in known):
            raise Invalid(
                f"provider {name!r} is one of the settings, and cannot be removed here",
                field="name",
                cure='disable it: PUT {"enabled": false}',
            )
        raise NotFound(f"there is no provider {name!r}", field="name", cure="list the providers")

    def alter(old: Preferences) -> Preferences:
        return old.replaced(
            providers={key: value for key, value in old.providers.items() if key != name}
        )

    change_model_preferences(runtime, alter, version)
    _change(runtime.home.facts, name, None)
    return _seen_by_all(runtime)


def _change(facts: Documents, name: str, provider: OwnProvider | None) -> None:
    """Store a provider, or remove it if it is None; repeats it after a concurrent change."""
    while True:
        stored = stored_own_model_providers(facts)
        known = dict(stored.read(OwnProviders).providers)
        known.pop(name, None)
        if provider is not None:
            if len(known) >= PROVIDERS:
                raise Invalid(
                    f"at most {PROVIDERS} providers can be added", cure="remove unused ones"
                )
            known[name] = provider
        try:
            facts.commit(stored.with_body(OwnProviders(providers=known)))
        except Changed:
            continue
        return


def _seen_by_all(runtime: Runtime) -> StoredPreferences:
    """Make a newer version of the preferences, by which other processes learn of the document."""
    return change_model_preferences(runtime, lambda preferences: preferences, None)
