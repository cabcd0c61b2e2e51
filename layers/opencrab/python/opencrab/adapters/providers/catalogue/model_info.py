"""What the engine is told of a model: what the lists know, and careful guesses for the rest."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from opencrab.adapters.providers.catalogue.bedrock_models import bedrock_model_facts
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.connection import (
    LOCAL_KINDS,
    catalogue_provider_costs_nothing,
    catalogue_provider_stays_private,
    is_address_of_provider_itself,
)
from opencrab.adapters.providers.catalogue.model_facts import ModelFacts, ModelSettings
from opencrab.domain.money.budget import FREE, Price
from opencrab.ports.models.model import ModelInfo

_INPUT_TOKENS = {"ollama": 8_192, "llamacpp": 4_096}
_OTHER_INPUT_TOKENS = 32_768
_OUTPUT_TOKENS = 4_096
_NO_CHAT = "its vendor offers it over another interface only, which is not supported"
_SCRIPTED = "not a language model: it follows a script or simple rules"


def known_model_info(
    settings: ModelsSettings, facts: ModelFacts, provider: ProviderSettings, model: str
) -> ModelSettings:
    """Return the known facts of a model: its own, completed by its family's and vendor's."""
    name, kind = f"{provider.name}:{model}", provider.kind
    own = is_address_of_provider_itself(provider) or kind in {"azure", "bedrock"}
    if kind == "bedrock":
        known = bedrock_model_facts(facts, provider.name, model, provider.base_url)
    else:
        known = facts.settings_for(name, f"{kind}:{model}") if own else facts.settings_for(name)
    if kind == "azure" and known.price is None:
        known = _as_at_openai(known, facts, model)
    for family in settings.families:
        if family.has(kind if own else None, model):
            known = known.with_defaults(family.facts)
    return known.with_defaults(settings.vendors.get(kind, ModelSettings()))


def _as_at_openai(known: ModelSettings, facts: ModelFacts, model: str) -> ModelSettings:
    """Complete an Azure deployment's facts by those of OpenAI's model of the same name."""
    there = facts.settings_for(f"openai:{model}")
    if there.price is None:
        return known
    note = f"its price is OpenAI's for {model!r}, as Azure's own is not known"
    return known.with_defaults(replace(there, notes=(*there.notes, note)))


def catalogue_model_info(provider: ProviderSettings, model: str, known: ModelSettings) -> ModelInfo:
    """Build the engine's ModelInfo from a model's known facts, with defaults for the rest."""
    name = f"{provider.name}:{model}"
    tokens_in = known.max_input_tokens or _INPUT_TOKENS.get(provider.kind, _OTHER_INPUT_TOKENS)
    price = _price(provider, model, known.price)
    info = ModelInfo(
        name=name,
        max_input_tokens=tokens_in,
        max_output_tokens=known.max_output_tokens or min(_OUTPUT_TOKENS, max(tokens_in // 2, 1)),
        max_total_tokens=known.max_total_tokens
        or (tokens_in if provider.kind in LOCAL_KINDS else None),
        price=price,
        functions=known.functions is not False,
        vision=known.vision is True,
        temperature=known.temperature is not False,
        stop=known.stop is not False,
        leading_blocks=known.leading_blocks is True,
        opened_block=known.opened_block is True,
        responses=known.responses is True,
        private=catalogue_provider_stays_private(provider),
        hidden_tokens=known.hidden_tokens or 0,
        hidden_output_tokens=known.hidden_output_tokens or 0,
        most_temperature=known.most_temperature or 2,
        efforts=known.efforts or (),
        thinking_budget=known.thinking_budget is True,
        notes=_notes(provider, name, known, price),
    )
    images = known.image_tokens
    return info if images is None else replace(info, image_tokens=images)


def _price(provider: ProviderSettings, model: str, known: Price | None) -> Price | None:
    if known is None:
        free = FREE if catalogue_provider_costs_nothing(provider, model) else None
        return provider.price or free
    return _with_cache(known) if provider.kind == "anthropic" else known


def _with_cache(price: Price) -> Price:
    """Add Anthropic's cache prices, which are fixed shares of the input price."""
    plain = price.input_per_million
    return Price(
        input_per_million=plain,
        output_per_million=price.output_per_million,
        cached_per_million=_or_share(price.cached_per_million, plain, Fraction(1, 10)),
        cache_write_per_million=_or_share(price.cache_write_per_million, plain, Fraction(5, 4)),
        cache_write_long_per_million=_or_share(
            price.cache_write_long_per_million, plain, Fraction(2)
        ),
    )


def _or_share(given: int | None, plain: int, share: Fraction) -> int:
    """Return the given price, or else a share of the plain price, rounded up."""
    return int(-(-plain * share // 1)) if given is None else given


def _notes(
    provider: ProviderSettings, name: str, known: ModelSettings, price: Price | None
) -> tuple[str, ...]:
    if provider.kind == "scripted":
        return (_SCRIPTED,)
    wanted: Mapping[str, object] = {"context": known.max_input_tokens, "price": price}
    unknown = (
        f"the {what} of {name!r} is not known" for what, value in wanted.items() if value is None
    )
    silent = (_NO_CHAT,) if known.chat is False else ()
    return (*known.notes, *silent, *unknown)
