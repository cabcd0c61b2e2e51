"""What a configuration says of providers and models, as values; the composer reads the files."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from pydantic import ValidationError

from opencrab.adapters.providers.catalogue.config_table import (
    catalogue_config_flag,
    catalogue_config_price,
    catalogue_config_seconds,
    catalogue_config_table,
    catalogue_config_text,
    catalogue_config_texts,
    check_catalogue_config_keys,
    invalid_catalogue_reference,
)
from opencrab.adapters.providers.catalogue.model_facts import (
    Listing,
    ModelFamily,
    ModelSettings,
    catalogue_facts,
    catalogue_facts_of_provider,
    catalogue_facts_of_similar_models,
)
from opencrab.adapters.providers.transport.exchange import SignRequest
from opencrab.adapters.providers.wire.address import checked_wire_base_url
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import CallOptions, Use
from opencrab.domain.money.budget import Price

Kind = Literal[
    "openai", "azure", "anthropic", "google", "bedrock", "openrouter", "ollama", "llamacpp",
    "scripted",
]  # fmt: skip
"""How a provider is spoken to."""

KINDS: tuple[str, ...] = get_args(Kind)
SCRIPTED = "scripted:rules"
"""The model that is always there."""

MOST_HOPS = 20
LONGEST_SECONDS = 280

_USES = ", ".join(Use)
_PROVIDER_KEYS = {
    "kind", "base_url", "api_key", "default_model", "organization", "site_url", "app_name",
    "key_name", "script", "api_version", "profile", "enabled", "private", "stream",
    "timeout_seconds", "usd_per_million",
}  # fmt: skip
MANNERS: Mapping[Use, CallOptions] = {
    Use.THINKING: CallOptions(timeout_seconds=120),
    Use.CONVERSATION: CallOptions(temperature=0.7),
    Use.ANALYSIS: CallOptions(temperature=0.2),
    Use.TOOL_CALLING: CallOptions(temperature=0.1),
    Use.CREATIVE: CallOptions(temperature=0.9),
}
"""How each use asks, where the configuration says nothing."""


@dataclass(frozen=True)
class ProviderSettings:
    """The configuration of one provider: format (`kind`), address and credentials.

    `key_name` names the secret or environment variable of the key; `missing` is the variable
    without which the provider is absent; `problem` is another reason why it cannot be used.
    `private` None means: judge by the address. `script` is a file for kind `scripted`,
    `profile` the AWS profile that signs, `price` that of all models that no list has.
    `configured_url` is the address before the owner changed it at run time. `unseen` says that the
    key is a placeholder for one that this process cannot read, and must not be checked. `sign`
    signs requests with AWS credentials where there is no key; with `signs_by_choice` the owner
    named them for this process, so that they count as a key.
    """

    name: str
    kind: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    default_model: str = ""
    organization: str = ""
    site_url: str = ""
    app_name: str = ""
    key_name: str = ""
    missing: str = ""
    problem: str = ""
    script: str = ""
    api_version: str = ""
    profile: str = ""
    enabled: bool = True
    private: bool | None = None
    stream: bool = True
    timeout_seconds: float | None = None
    price: Price | None = None
    configured_url: str | None = None
    unseen: bool = False
    sign: SignRequest | None = field(default=None, repr=False, compare=False)
    signs_by_choice: bool = False


@dataclass(frozen=True)
class ModelsSettings:
    """All providers, the models for each use, and facts of models by `provider:model`.

    `default`, `uses`, `fallback` and the values of `aliases` name a model, a provider or an alias.
    `vendors` are facts of all models of a kind of provider, `families` of models with similar
    names; `listing` reads the public price list.
    """

    default: str = SCRIPTED
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[Use, str] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    manners: Mapping[Use, CallOptions] = field(default_factory=lambda: MANNERS)
    self_selection: bool = True
    selectable: tuple[str, ...] = ()
    vendors: Mapping[str, ModelSettings] = field(default_factory=dict)
    families: tuple[ModelFamily, ...] = ()
    listing: Listing = dict

    def with_provider(self, provider: ProviderSettings) -> "ModelsSettings":
        """Return the settings with this provider added or replaced."""
        return replace(self, providers={**self.providers, provider.name: provider})

    def with_model(self, name: str, model: ModelSettings) -> "ModelsSettings":
        """Return the settings with these facts about a model."""
        return replace(self, models={**self.models, name: model})

    def with_single_model(self, name: str) -> "ModelsSettings":
        """Return the settings with one model for all uses but embeddings, without fallback."""
        kept = {Use(use): model for use, model in self.uses.items() if use is Use.EMBEDDING}
        return replace(self, default=name, uses=kept, fallback=())


def provider_catalogue_settings(
    llm: Mapping[str, Any],
    pricing: Mapping[str, Any],
    missing: Mapping[str, str] | None = None,
    *,
    key_names: Mapping[str, str] | None = None,
    listing: Listing = dict,
    stored_key: Callable[[str], str | None] | None = None,
) -> ModelsSettings:
    """Build the settings from the `[llm]` tables of the configuration and the price list.

    `missing` names, for each provider that is absent, the environment variable that is not set, and
    `key_names` the variable of each provider's api_key. `stored_key` returns a provider's stored
    key, which overrides the configured one. `listing` reads the public price list. Raises Invalid,
    naming the setting.
    """
    absent, keys = missing or {}, key_names or {}
    providers = {
        name: _provider(
            name,
            catalogue_config_table(table, f"llm.providers.{name}"),
            absent.get(name, ""),
            keys.get(name) or _catalogue_provider_key_name(name),
        )
        for name, table in catalogue_config_table(llm.get("providers", {}), "llm.providers").items()
    }
    if stored_key is not None:
        providers = {name: _apply_stored_key(each, stored_key) for name, each in providers.items()}
    selection = catalogue_config_table(llm.get("self_selection", {}), "llm.self_selection")
    check_catalogue_config_keys(selection, {"enabled", "allowed_aliases"}, "llm.self_selection")
    default = _default(llm, providers)
    settings = ModelsSettings(
        default=default,
        providers=providers,
        models=catalogue_facts(pricing),
        aliases=_references(llm, "aliases"),
        uses={_use(use, "llm.models"): name for use, name in _references(llm, "models").items()},
        fallback=_chain(llm),
        manners=_manners(catalogue_config_table(llm.get("uses", {}), "llm.uses")),
        self_selection=catalogue_config_flag(selection, "enabled", "llm.self_selection")
        is not False,
        selectable=catalogue_config_texts(selection, "allowed_aliases", "llm.self_selection"),
        vendors=catalogue_facts_of_provider(pricing),
        families=catalogue_facts_of_similar_models(pricing),
        listing=listing,
    )
    _check_references(settings)
    return settings


def _default(llm: Mapping[str, Any], providers: Mapping[str, ProviderSettings]) -> str:
    """Return the default model; without a name, the default model of its provider."""
    name = str(llm.get("default_provider", "scripted"))
    model = str(llm.get("default_model", "")) or (
        providers[name].default_model if name in providers else ""
    )
    return f"{name}:{model}"


def provider_catalogue_alias_target(name: str, aliases: Mapping[str, str], place: str) -> str:
    """Follow aliases to the name behind them; raise Invalid if they are circular."""
    seen = [name]
    while name in aliases:
        name = aliases[name]
        if name in seen or len(seen) > MOST_HOPS:
            facts = {"alias": seen[0], "way": " → ".join([*seen, name]), "most": MOST_HOPS}
            raise invalid_catalogue_reference(
                "the alias {alias!r} is circular, or leads over {most}: {way}".format_map(facts),
                problem="alias_circular",
                facts=facts,
                field=place,
                cure="make each alias resolve to PROVIDER:MODEL",
            )
        seen.append(name)
    return name


def check_catalogue_alias_target(
    name: str,
    aliases: Mapping[str, str],
    providers: Mapping[str, ProviderSettings],
    place: str,
) -> str:
    """Resolve a name; raise Invalid unless it is a model of a known provider."""
    found = provider_catalogue_alias_target(name, aliases, place)
    provider = found.partition(":")[0]
    if provider not in providers and provider != "scripted":
        known = ", ".join(sorted({*providers, "scripted"}))
        via = "" if found == name else f" (from alias {name!r})"
        raise invalid_catalogue_reference(
            f"{found!r}{via} is not a known model, alias or provider",
            problem="model_unknown",
            facts={"model": found.removesuffix(":"), "provider": provider, "known": known},
            field=place,
            cure=f"write PROVIDER:MODEL with one of {known}, or an alias of [llm.aliases]",
        )
    return found


def check_catalogue_fallback_models(
    fallback: tuple[str, ...],
    aliases: Mapping[str, str],
    providers: Mapping[str, ProviderSettings],
    place: str = "llm.fallback.chain",
) -> None:
    """Raise Invalid for an unknown model, or one listed twice, also under an alias."""
    seen: dict[str, str] = {}
    for name in fallback:
        found = check_catalogue_alias_target(name, aliases, providers, place)
        if found in seen:
            raise invalid_catalogue_reference(
                f"the fallback lists {found!r} twice, as {seen[found]!r} and as {name!r}",
                problem="fallback_twice",
                facts={"model": found, "first": seen[found], "second": name},
                field=place,
                cure="list each model once",
            )
        seen[found] = name


def _check_references(settings: ModelsSettings) -> None:
    aliases, providers = settings.aliases, settings.providers
    for alias in aliases:
        check_catalogue_alias_target(alias, aliases, providers, f"llm.aliases.{alias}")
    for use, name in settings.uses.items():
        check_catalogue_alias_target(name, aliases, providers, f"llm.models.{use.value}")
    check_catalogue_fallback_models(settings.fallback, aliases, providers)
    check_catalogue_alias_target(settings.default, {}, providers, "llm.default_provider")
    for alias in settings.selectable:
        if alias not in aliases:
            raise invalid_catalogue_reference(
                f"allowed_aliases contains {alias!r}, which is not a defined alias",
                problem="alias_missing",
                facts={"alias": alias},
                field="llm.self_selection.allowed_aliases",
                cure=f"add {alias} to [llm.aliases], or remove it from the list",
            )


def _provider(
    name: str, table: Mapping[str, Any], missing: str, key_variable: str
) -> ProviderSettings:
    place = f"llm.providers.{name}"
    check_catalogue_config_keys(table, _PROVIDER_KEYS, place)
    if ":" in name or not name.strip():
        raise Invalid(
            f"{name!r} is not a valid provider name", field=place, cure="use letters and digits"
        )
    kind = catalogue_config_text(table, "kind", place) or (name if name in KINDS else "openai")
    if kind not in KINDS:
        raise Invalid(
            f"provider {name!r} has the unknown kind {kind!r}",
            field=f"{place}.kind",
            cure=f"use one of {', '.join(KINDS)}",
        )
    base_url = catalogue_config_text(table, "base_url", place)
    return ProviderSettings(
        name=name,
        kind=kind,
        base_url=checked_wire_base_url(base_url, provider=name) if base_url else "",
        api_key=catalogue_config_text(table, "api_key", place),
        default_model=catalogue_config_text(table, "default_model", place),
        organization=catalogue_config_text(table, "organization", place),
        site_url=catalogue_config_text(table, "site_url", place),
        app_name=catalogue_config_text(table, "app_name", place),
        key_name=catalogue_config_text(table, "key_name", place) or key_variable,
        missing=missing,
        script=catalogue_config_text(table, "script", place),
        api_version=catalogue_config_text(table, "api_version", place),
        profile=catalogue_config_text(table, "profile", place),
        enabled=catalogue_config_flag(table, "enabled", place) is not False,
        private=catalogue_config_flag(table, "private", place),
        stream=catalogue_config_flag(table, "stream", place) is not False,
        timeout_seconds=catalogue_config_seconds(
            table, "timeout_seconds", place, most=LONGEST_SECONDS
        ),
        price=catalogue_config_price(table, "usd_per_million", place),
    )


def _apply_stored_key(
    provider: ProviderSettings, stored_key: Callable[[str], str | None]
) -> ProviderSettings:
    """Return the provider with its stored key, if there is one."""
    key = stored_key(provider.key_name)
    if not key:
        return provider
    missing = "" if provider.missing == provider.key_name else provider.missing
    return replace(provider, api_key=key.strip(), missing=missing)


def _catalogue_provider_key_name(provider: str) -> str:
    """Return the default name of a provider's API key, such as OPENAI_API_KEY."""
    return f"{re.sub(r'[^A-Z0-9]', '_', provider.upper())}_API_KEY"


def _references(llm: Mapping[str, Any], section: str) -> dict[str, str]:
    table = catalogue_config_table(llm.get(section, {}), f"llm.{section}")
    return {name: _reference(each, f"llm.{section}.{name}") for name, each in table.items()}


def _reference(given: Any, place: str) -> str:
    """Return `provider:model` from a table with both keys, or a text as it is."""
    if isinstance(given, str) and given.strip():
        return given.strip()
    provider = model = None
    if isinstance(given, Mapping):
        check_catalogue_config_keys(given, {"provider", "model"}, place)
        provider, model = given.get("provider"), given.get("model")
    if not isinstance(provider, str) or not isinstance(model, str):
        raise Invalid(
            f"[{place}] must give a provider and a model",
            field=place,
            cure='write {provider = "openai", model = "gpt-5.2"} or "openai:gpt-5.2"',
        )
    return f"{provider}:{model}"


def _chain(llm: Mapping[str, Any]) -> tuple[str, ...]:
    table = catalogue_config_table(llm.get("fallback", {}), "llm.fallback")
    check_catalogue_config_keys(table, {"chain"}, "llm.fallback")
    return catalogue_config_texts(table, "chain", "llm.fallback")


def _manners(tables: Mapping[str, Any]) -> dict[Use, CallOptions]:
    manners = dict(MANNERS)
    for name, given in tables.items():
        place = f"llm.uses.{name}"
        use, table = _use(name, "llm.uses"), catalogue_config_table(given, place)
        check_catalogue_config_keys(table, set(CallOptions.model_fields), place)
        values = {**MANNERS.get(use, CallOptions()).model_dump(), **table}
        try:
            manners[use] = CallOptions(**{**values, "stop": tuple(values["stop"])})
        except (ValidationError, TypeError) as error:
            raise Invalid(
                f"[{place}] is invalid: {_validation_message(error)}",
                field=place,
                cure="temperature is 0 to 2, top_p more than 0 and at most 1, max_output_tokens 16 "
                "to 1000000, reasoning_effort low, medium or high, stop a list of texts, "
                f"timeout_seconds more than 0 and at most {LONGEST_SECONDS}",
            ) from None
    return manners


def _validation_message(error: ValidationError | TypeError) -> str:
    if isinstance(error, ValidationError):
        found = (each for each in error.errors() if each["loc"])
        return "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in found)
    return "stop must be a list of texts"


def _use(name: str, section: str) -> Use:
    try:
        return Use(name)
    except ValueError:
        raise Invalid(
            f"[{section}] has {name!r}, which is not a use of a model",
            field=f"{section}.{name}",
            cure=f"use one of {_USES}",
        ) from None
