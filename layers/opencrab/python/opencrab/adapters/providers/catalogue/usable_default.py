"""Which model answers by default: the chosen one if it can, a server here, else the next one."""

from dataclasses import replace

from opencrab.adapters.providers.catalogue import connection
from opencrab.adapters.providers.catalogue.configuration import (
    SCRIPTED,
    ModelsSettings,
    ProviderSettings,
)
from opencrab.adapters.providers.catalogue.detect import LocalServer
from opencrab.adapters.providers.catalogue.merge import provider_routing
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings


def provider_settings_with_usable_default(
    settings: ModelsSettings, server: LocalServer | None
) -> ModelsSettings:
    """Return the settings with a default model that can be used.

    That is the configured one, unless its provider is absent; then a detected local server, then
    a model whose provider has a key, and else the scripted model. A detected server becomes a
    provider in any case.
    """
    if server is not None:
        settings = _with_local(settings, server)
    provider = settings.providers.get(settings.default.partition(":")[0])
    if provider is not None and not connection.missing_catalogue_provider_setting(provider):
        return settings
    if server is not None:
        return replace(settings, default=f"{server.provider}:{server.model}")
    other = provider_routing(settings).default
    return replace(settings, default=SCRIPTED if other == settings.default else other)


def _with_local(settings: ModelsSettings, server: LocalServer) -> ModelsSettings:
    known = settings.providers.get(server.provider)
    provider = replace(
        known or ProviderSettings(name=server.provider, kind=server.provider),
        base_url=server.base_url,
        default_model=server.model,
        missing="",
    )
    name = f"{server.provider}:{server.model}"
    settings = settings.with_provider(provider)
    if server.input_tokens is None or name in settings.models:
        return settings
    limits = ModelSettings(
        max_input_tokens=server.input_tokens, max_total_tokens=server.input_tokens
    )
    return settings.with_model(name, limits)
