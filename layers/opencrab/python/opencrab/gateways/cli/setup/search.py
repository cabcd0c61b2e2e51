"""What the setup finds on this computer: model servers, keys and AWS profiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencrab.gateways.cli.configuration.providers import (
    provider_names_in,
    variable_of_provider_key,
)
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration, SettingView

LOCAL_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")
"""Servers on this computer, which need no key: they are looked for at their usual ports."""

VENDORS = (
    "openai", "anthropic", "google", "bedrock", "azure", "xai", "deepseek", "mistral", "groq",
    "openrouter",
)  # fmt: skip
"""Vendors in the order in which they are offered."""

SECTION = "llm.providers"
_SHOWN = 3
_EMBEDDING_WORDS = ("embed", "bge-", "minilm", "rerank")


@dataclass(frozen=True)
class FoundProvider:
    """A provider that can be used as it is, why, and the models that it lists if it was asked."""

    name: str
    why: str
    models: tuple[str, ...] = ()


def find_providers_for_setup(
    terminal: Terminal, configuration: Configuration
) -> tuple[FoundProvider, ...]:
    """Return the providers that can be used as they are: with a key, here, or by AWS profile."""
    settings = configuration.settings()
    found = []
    names = provider_names_in(configuration)
    known = [*VENDORS, *sorted(names.difference(VENDORS, LOCAL_SERVERS))]
    for name in known:
        if setup_setting(settings, f"{SECTION}.{name}.api_key"):
            variable = variable_of_provider_key(configuration, name)
            found.append(FoundProvider(name, terminal.words("setup_has_key", variable=variable)))
    found += _servers(terminal, configuration, settings)
    profiles = configuration.aws_profiles()
    if profiles:
        listed = ", ".join(profiles[:_SHOWN])
        found.append(FoundProvider("bedrock", terminal.words("setup_has_profile", names=listed)))
    return tuple(found)


def setup_setting(settings: Sequence[SettingView], name: str) -> Any:
    """Return a setting's value, empty if there is none."""
    return next((each.value for each in settings if each.name == name), "")


def own_setup_setting(settings: Sequence[SettingView], name: str) -> str:
    """Return a setting as the owner set it; empty if it is left at its default."""
    found = next((each for each in settings if each.name == name), None)
    is_own = found is not None and found.source != "default.toml"
    return str(found.value) if found is not None and is_own else ""


def chat_models_of_listing(listed: Sequence[str]) -> tuple[str, ...]:
    """Return the models of a server's list that answer; those for embeddings do not."""
    return tuple(
        each for each in listed if not any(word in each.lower() for word in _EMBEDDING_WORDS)
    )


def _servers(
    terminal: Terminal, configuration: Configuration, settings: Sequence[SettingView]
) -> Sequence[FoundProvider]:
    found = []
    for name in LOCAL_SERVERS:
        health = configuration.check_provider(name)
        if not health.ok:
            continue
        models = chat_models_of_listing(health.models or ())
        address = setup_setting(settings, f"{SECTION}.{name}.base_url")
        if not models and name == "ollama":
            terminal.print_note("setup_no_model", url=address)
            continue
        listed = ", ".join(models[:_SHOWN]) + (" …" if len(models) > _SHOWN else "")
        why = terminal.words("setup_has_server", url=address, models=listed or "-")
        found.append(FoundProvider(name, why, models))
    return found
