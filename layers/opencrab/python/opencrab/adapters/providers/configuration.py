"""What a configuration says of providers and models, as values; the composer reads the files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any, Literal, get_args

from opencrab.domain.errors import Invalid
from opencrab.domain.money import Price

Kind = Literal["openai", "ollama", "llamacpp", "scripted"]
"""How a provider is spoken to; all but the last take OpenAI's chat completions."""

KINDS: tuple[str, ...] = get_args(Kind)
LATER = ("anthropic", "google", "openrouter")
"""Providers that the configuration may name already and that OpenCrab cannot speak to yet."""

_MICRO_USD = 1_000_000


@dataclass(frozen=True)
class ProviderSettings:
    """One provider: how it is spoken to, where it is and what lets us in.

    `key_name` names the environment variable of the key, for messages; `missing` is the variable
    without which the provider is absent; `script` is a file for kind `scripted`.
    """

    name: str
    kind: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    default_model: str = ""
    organization: str = ""
    key_name: str = ""
    missing: str = ""
    script: str = ""


@dataclass(frozen=True)
class ModelSettings:
    """A model's limits and price, as far as they are known."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_total_tokens: int | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelsSettings:
    """All providers, and facts of models by `provider:model`; `default` is such a name, too."""

    default: str = "scripted:rules"
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def with_provider(self, provider: ProviderSettings) -> "ModelsSettings":
        """The settings with this provider, in place of one of the same name."""
        return replace(self, providers={**self.providers, provider.name: provider})

    def with_model(self, name: str, model: ModelSettings) -> "ModelsSettings":
        """The settings with these facts about a model."""
        return replace(self, models={**self.models, name: model})


def models_settings(
    llm: Mapping[str, Any], pricing: Mapping[str, Any], missing: Mapping[str, str] | None = None
) -> ModelsSettings:
    """The settings that the tables `[llm]` of the configuration and of the price list amount to.

    `missing` names, for each provider that is absent, the environment variable that is not set.
    Raises Invalid, naming the place, for what cannot be meant.
    """
    absent = missing or {}
    providers = {
        name: _provider(name, _table(table, f"llm.providers.{name}"), absent.get(name, ""))
        for name, table in _table(llm.get("providers", {}), "llm.providers").items()
    }
    return ModelsSettings(
        default=f"{llm.get('default_provider', 'scripted')}:{llm.get('default_model', '')}",
        providers=providers,
        models=model_facts(pricing),
        aliases={
            alias: _reference(target, f"llm.aliases.{alias}")
            for alias, target in _table(llm.get("aliases", {}), "llm.aliases").items()
        },
    )


def model_facts(pricing: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Limits and prices by `provider:model` from a price list in US dollars per million tokens."""
    return {
        f"{provider}:{model}": _facts(
            _table(table, f"models.{provider}.{model}"), f"{provider}:{model}"
        )
        for provider, models in _table(pricing.get("models", {}), "models").items()
        for model, table in _table(models, f"models.{provider}").items()
    }


def _provider(name: str, table: Mapping[str, Any], missing: str) -> ProviderSettings:
    kind = _text(table, "kind", name) or (name if name in (*KINDS, *LATER) else "openai")
    if kind not in (*KINDS, *LATER):
        raise Invalid(
            f"provider {name!r} has the unknown kind {kind!r}",
            field=f"llm.providers.{name}.kind",
            cure=f"use one of {', '.join(KINDS)}",
        )
    return ProviderSettings(
        name=name,
        kind=kind,
        base_url=_text(table, "base_url", name),
        api_key=_text(table, "api_key", name),
        default_model=_text(table, "default_model", name),
        organization=_text(table, "organization", name),
        key_name=_text(table, "key_name", name) or missing or _key_name(name),
        missing=missing,
        script=_text(table, "script", name),
    )


def _key_name(provider: str) -> str:
    """The usual environment variable of a provider's key."""
    return f"{re.sub(r'[^A-Z0-9]', '_', provider.upper())}_API_KEY"


def _facts(table: Mapping[str, Any], name: str) -> ModelSettings:
    price = None
    if "input" in table and "output" in table:
        price = Price(
            input_per_million=_micro_usd(table["input"], name),
            output_per_million=_micro_usd(table["output"], name),
        )
    return ModelSettings(
        max_input_tokens=_limit(table, "max_input_tokens", name),
        max_output_tokens=_limit(table, "max_output_tokens", name),
        max_total_tokens=_limit(table, "max_total_tokens", name),
        price=price,
    )


def _micro_usd(usd: Any, name: str) -> int:
    try:
        amount = Decimal(str(usd)) * _MICRO_USD
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise Invalid(f"the price of {name!r} must be a number of US dollars, not {usd!r}")
    return int(amount.to_integral_value(ROUND_CEILING))


def _limit(table: Mapping[str, Any], key: str, name: str) -> int | None:
    limit = table.get(key)
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise Invalid(f"{key} of {name!r} must be a positive number of tokens, not {limit!r}")
    return limit


def _reference(target: Any, place: str) -> str:
    """`provider:model` from a table with both."""
    table = _table(target, place)
    provider, model = table.get("provider"), table.get("model")
    if not isinstance(provider, str) or not isinstance(model, str):
        raise Invalid(f"[{place}] must name a provider and a model", field=place)
    return f"{provider}:{model}"


def _text(table: Mapping[str, Any], key: str, name: str) -> str:
    text = table.get(key, "")
    if not isinstance(text, str):
        raise Invalid(
            f"{key} of provider {name!r} must be text, not {type(text).__name__}",
            field=f"llm.providers.{name}.{key}",
        )
    return text.strip()


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Invalid(f"[{place}] must be a table, not {type(value).__name__}", field=place)
    return value
