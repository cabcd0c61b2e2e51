"""Providers that an owner added while the installation runs, beside those of the configuration."""

from typing import Annotated, Literal

from pydantic import Field

from opencrab.domain.models.preferences import PROVIDERS, ProviderName
from opencrab.domain.value import ShortText, Value

OWN_PROVIDERS_KIND = "own_providers"
"""Kind and id of the document that holds them."""

OwnProviderKind = Literal[
    "openai", "azure", "anthropic", "google", "openrouter", "ollama", "llamacpp"
]


class OwnProvider(Value):
    """How a provider is spoken to, where it is, and the model that its name alone stands for."""

    kind: OwnProviderKind
    base_url: ShortText
    default_model: ShortText = ""


class OwnProviders(Value):
    """All of them by name: one document."""

    providers: Annotated[dict[ProviderName, OwnProvider], Field(max_length=PROVIDERS)] = Field(
        default_factory=dict
    )


def own_provider_key_name(name: str) -> str:
    """Return the name of an added provider's key, which no other secret has."""
    return f"OWN_PROVIDER_{name.upper()}_KEY"
