"""The models that OpenCrab uses on this machine, and the HTTP client that calls them."""

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.bootstrap.bedrock import AwsAccount, aws_account, models_signed_for_aws
from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencrab.adapters.providers.catalogue.configuration import ModelsSettings
    from opencrab.adapters.providers.catalogue.detect import LocalServer
    from opencrab.adapters.providers.transport.exchange import Transport
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

_NO_MODEL = (
    "this is not a language model: run `opencrab setup`, or start Ollama or a llama.cpp",
    "server, which is then found by itself; until then answers follow simple rules",
)


@dataclass(frozen=True)
class LocalModels:
    """The models' settings, and notes for the owner on how they were chosen.

    `again` builds the settings again, since keys may have changed. `look` looks for a local server
    that was not there before, and returns whether `again` has one now.
    """

    settings: "ModelsSettings"
    notes: tuple[str, ...]
    again: "Callable[[], ModelsSettings]"
    look: "Callable[[], bool]" = bool


class Network:
    """An HTTP client that is created at its first use."""

    def __init__(self) -> None:
        self._client: Any = None

    def transport(self) -> "Transport":
        from opencrab.adapters.providers.transport.http_connections import HttpConnections
        from opencrab.adapters.providers.transport.http_transport import HttpTransport

        if self._client is None:
            self._client = HttpConnections()
        return HttpTransport(self._client)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def models_of_local_server(
    secrets: "Secrets",
    provider: str | None,
    load: "Callable[..., Settings]" = settings.load_settings,
) -> LocalModels:
    """Return the usable models: the configured ones, else a local server's, else scripted."""
    from opencrab.adapters.providers.catalogue.configuration import SCRIPTED
    from opencrab.adapters.providers.catalogue.usable_default import (
        provider_settings_with_usable_default,
    )

    known = configured_local_models(secrets, load)
    if provider is not None:
        chosen = _restrict_to_provider(known, provider)
        again = partial(_only, secrets, provider, load)
        return LocalModels(chosen, ("chosen with --provider",), again)
    found, notes = _detect_local_server(known)
    thinking = provider_settings_with_usable_default(known, found)
    if thinking.default == SCRIPTED:
        notes = (*notes, *_NO_MODEL)

    def look() -> bool:
        nonlocal found
        if found is None:
            found = _detect_local_server(configured_local_models(secrets, load))[0]
        return found is not None

    return LocalModels(
        thinking,
        notes,
        lambda: provider_settings_with_usable_default(
            configured_local_models(secrets, load), found
        ),
        look,
    )


def _detect_local_server(known: "ModelsSettings") -> "tuple[LocalServer | None, tuple[str, ...]]":
    """Find a model server on this machine; returns it, else None, with notes for the owner."""
    from opencrab.adapters.providers.catalogue.detect import (
        LLAMACPP_URL,
        OLLAMA_URL,
        detect_servers_for_catalogue,
    )

    ollama = _address(known, "ollama", OLLAMA_URL)
    llamacpp = _address(known, "llamacpp", LLAMACPP_URL)
    if not _answers(ollama) and not _answers(llamacpp):
        return None, ()
    network = Network()
    detection = detect_servers_for_catalogue(network.transport(), ollama, llamacpp)
    network.close()
    return detection.server, detection.notes


def configured_local_models(
    secrets: "Secrets", load: "Callable[..., Settings]" = settings.load_settings
) -> "ModelsSettings":
    """Read the models again from files, environment and stored keys."""
    from opencrab.adapters.providers.catalogue.configuration import provider_catalogue_settings
    from opencrab.bootstrap.llm import configured_llm_table

    secrets.forget()
    account = settings_of_aws()
    configured = load({}, secret=lambda name: secrets.get(name) or account.variable(name))
    known = provider_catalogue_settings(
        configured_llm_table(configured),
        configured.pricing,
        configured.absent_below("llm.providers"),
        key_names=configured.variables_of("api_key", "llm.providers"),
        listing=settings.public_prices_of_settings,
        stored_key=secrets.get,
    )
    return models_signed_for_aws(known, account, by_choice=True)


def settings_of_aws() -> AwsAccount:
    """Return what this process's environment says of AWS."""
    return aws_account(os.environ, Path.home())  # noqa: TID251  - AWS's own variables


def _only(secrets: "Secrets", provider: str, load: "Callable[..., Settings]") -> "ModelsSettings":
    return _restrict_to_provider(configured_local_models(secrets, load), provider)


def _restrict_to_provider(known: "ModelsSettings", provider: str) -> "ModelsSettings":
    """Return settings that use one provider, or one model of it; raises Invalid if unknown."""
    from opencrab.adapters.providers.catalogue.configuration import SCRIPTED
    from opencrab.adapters.providers.catalogue.connection import (
        missing_catalogue_provider_setting,
    )

    name, _, model = provider.partition(":")
    if name != "scripted" and name not in known.providers:
        names = ", ".join(sorted({"scripted", *known.providers}))
        raise Invalid(f"there is no provider {name!r}", cure=f"choose one of {names}")
    if name != "scripted" and (why := missing_catalogue_provider_setting(known.providers[name])):
        raise Invalid(f"provider {name!r} cannot be used: {why}", cure=_missing_cure(known, name))
    return known.with_single_model(SCRIPTED if provider == "scripted" else f"{name}:{model}")


def _missing_cure(known: "ModelsSettings", name: str) -> str:
    from opencrab.adapters.providers.catalogue.connection import missing_catalogue_provider_key

    variable = missing_catalogue_provider_key(known.providers[name])
    if not variable:
        return f"correct [llm.providers.{name}]; `opencrab config edit` opens your settings"
    return f"set {variable}, or store it with `opencrab models providers set {name} --key`"


def _address(known: "ModelsSettings", name: str, default: str) -> str:
    provider = known.providers.get(name)
    return (provider.base_url if provider else "") or default


def _answers(url: str) -> bool:
    """Return True if a server listens at this URL; a quick check before any request."""
    from urllib.parse import urlsplit

    address = urlsplit(url)
    with socket.socket() as probe, suppress(OSError):
        probe.settimeout(0.2)
        return probe.connect_ex((address.hostname or "localhost", address.port or 80)) == 0
    return False
