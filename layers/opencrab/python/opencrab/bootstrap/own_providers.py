"""Providers that were added while the installation runs, as settings beside the configured ones."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opencrab.settings import EffectiveSetting

if TYPE_CHECKING:
    from opencrab.ports.documents import Documents
    from opencrab.settings import Settings

SOURCE = "PUT /api/llm/providers"


class SettingsWithOwnProviders:
    """Loads settings as `load` does, with the added providers of a home that is known later.

    A name that the settings have is theirs.
    """

    def __init__(self, load: "Callable[..., Settings]", facts: "Documents | None" = None) -> None:
        self._load = load
        self._facts = facts

    def follow(self, facts: "Documents") -> None:
        """Read added providers from here on."""
        self._facts = facts

    def load(
        self,
        overrides: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        *,
        secret: "Callable[[str], str | None] | None" = None,
    ) -> "Settings":
        """Return the settings with the added providers."""
        given = () if environment is None else (environment,)
        configured = self._load(overrides, *given, secret=secret)
        if self._facts is None:
            return configured
        from opencrab.domain.models.own_provider import own_provider_key_name
        from opencrab.engine.models.own_provider_document import own_model_providers

        names = {
            name.split(".")[2] for name in configured.values if name.startswith("llm.providers.")
        }
        added = {
            f"llm.providers.{name}.{key}": EffectiveSetting(value, SOURCE)
            for name, each in own_model_providers(self._facts).providers.items()
            if name not in names
            for key, value in {
                **each.model_dump(),
                "key_name": own_provider_key_name(name),
            }.items()
        }
        return replace(configured, values={**configured.values, **added}) if added else configured
