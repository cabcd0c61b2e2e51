"""What is known of models: our own price list on top of the exported public one.

The public one has hundreds of entries, so that each is looked at when its model is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar

from opencrab.adapters.providers.catalogue.config_table import (
    catalogue_config_count,
    catalogue_config_flag,
    catalogue_config_table,
    catalogue_config_texts,
    check_catalogue_config_keys,
)
from opencrab.adapters.providers.catalogue.prices import (
    catalogue_price_micro_usd,
    catalogue_price_of_parts,
    model_spellings_in_catalogue,
    provider_prices_by_normal_name,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.models.price_check import higher_model_price
from opencrab.domain.money.budget import Price

T = TypeVar("T")
Listing = Callable[[], Mapping[str, Any]]
"""Reads the exported price list."""

MOST_TOKENS = 100_000_000
_PARTS = ("input", "output", "cached", "cache_write", "cache_write_long")
_NUMBERS = {
    "max_input_tokens": 1,
    "max_output_tokens": 1,
    "max_total_tokens": 1,
    "image_tokens": 0,
    "hidden_tokens": 0,
    "hidden_output_tokens": 0,
    "most_temperature": 1,
}
_ABILITIES = (
    "functions", "vision", "temperature", "stop", "chat", "leading_blocks", "opened_block",
    "responses", "thinking_budget",
)  # fmt: skip
_LISTED = {*_PARTS, "context", "max_input_tokens", "also"}
_UNDATED = date.min
_PROFILES = "bedrock:regional."
"""How the public list names the inference profiles of all regions at once."""


@dataclass(frozen=True)
class ModelSettings:
    """A model's limits, abilities and price, as far as they are known.

    `parts` are prices in US dollars per million tokens that complete those of another list. `chat`
    False means that the vendor offers the model only over an API that OpenCrab does not support,
    `responses` True that it offers it only over OpenAI's Responses API.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_total_tokens: int | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()
    functions: bool | None = None
    vision: bool | None = None
    temperature: bool | None = None
    stop: bool | None = None
    chat: bool | None = None
    leading_blocks: bool | None = None
    opened_block: bool | None = None
    responses: bool | None = None
    image_tokens: int | None = None
    hidden_tokens: int | None = None
    hidden_output_tokens: int | None = None
    most_temperature: int | None = None
    thinking_budget: bool | None = None
    efforts: tuple[str, ...] | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    as_of: date = _UNDATED

    def with_defaults(self, other: "ModelSettings") -> "ModelSettings":
        """Return these facts, completed by the other's where these are unknown."""
        known = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in {"notes", "parts", "as_of"} and getattr(self, each.name) is not None
        }
        if self.price is None and self.parts:
            known["price"] = catalogue_price_of_parts({**other.parts, **self.parts}) or other.price
        dated = self.as_of if self.price is not None else other.as_of
        return replace(
            other,
            **known,
            notes=(*other.notes, *self.notes),
            parts={**other.parts, **self.parts},
            as_of=dated,
        )


@dataclass(frozen=True)
class ModelFamily:
    """Facts of all models with similar names, at any vendor or at some `kinds` of provider.

    `names` are glob patterns for the part after the last "/", lower case and with "-" for ".".
    """

    names: tuple[str, ...]
    facts: ModelSettings
    kinds: tuple[str, ...] = ()

    def has(self, kind: str | None, model: str) -> bool:
        """Check whether a model belongs to the family.

        `kind` is None at another vendor's server.
        """
        if self.kinds and kind not in self.kinds:
            return False
        name = model.rpartition("/")[2].lower().replace(".", "-")
        return any(fnmatchcase(name, pattern) for pattern in self.names)


@dataclass(frozen=True)
class ModelFacts:
    """Facts of models from three lists: ours, the public one, and newer prices.

    A newer price overrides the public list; it overrides ours, which the owner wrote, only if
    higher.
    """

    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    listing: Listing = dict
    dated: Mapping[str, DatedPrice] = field(default_factory=dict)

    def settings_for(self, *names: str) -> ModelSettings:
        """Return the facts under the first of the names that a list has, in any spelling."""
        tried = tuple(
            dict.fromkeys(each for name in names for each in model_spellings_in_catalogue(name))
        )
        own = _of(tried, self.models, self._own_by_name) or ModelSettings()
        facts = own.with_defaults(self._listed(tried))
        newer = _of(tried, self.dated, self._dated_by_name)
        if newer is None or newer.as_of <= facts.as_of:
            return facts
        pinned = facts.price if own.price is not None or own.parts else None
        price = newer.price if pinned is None else higher_model_price(pinned, newer.price)
        return replace(facts, price=price, as_of=newer.as_of)

    def names(self) -> Iterator[str]:
        """Yield every `provider:model` that a list has, under a name that can be called."""
        yield from self.models
        yield from (name for name in _entries(self.listing()) if not name.startswith(_PROFILES))

    @cached_property
    def _own_by_name(self) -> Mapping[str, ModelSettings]:
        return provider_prices_by_normal_name(self.models)

    @cached_property
    def _dated_by_name(self) -> Mapping[str, DatedPrice]:
        return provider_prices_by_normal_name(self.dated)

    def _listed(self, tried: tuple[str, ...]) -> ModelSettings:
        document = self.listing()
        entries = _entries(document)
        name = next((each for each in tried if each in entries), None) or _alias(entries, tried)
        if name is None:
            return ModelSettings()
        return listed_catalogue_facts(
            entries[name], f"models.json: {name}", _date(document, "models.json")
        )


def _of(tried: tuple[str, ...], exact: Mapping[str, T], by_name: Mapping[str, T]) -> T | None:
    """Return a list's entry under one of the names, first as written, then by other spellings."""
    names = ((table, name) for table in (exact, by_name) for name in tried)
    return next((table[name] for table, name in names if name in table), None)


def catalogue_facts(pricing: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Return limits, abilities and prices by `provider:model` from config/pricing.toml.

    Raises Invalid, naming the setting.
    """
    as_of = _date(pricing, "pricing.toml")
    return {
        f"{provider}:{model}": _own(table, f"models.{provider}.{model}", as_of)
        for provider, models in catalogue_config_table(pricing.get("models", {}), "models").items()
        for model, table in catalogue_config_table(models, f"models.{provider}").items()
    }


def catalogue_facts_of_provider(pricing: Mapping[str, Any]) -> dict[str, ModelSettings]:
    """Return the facts of all models of a kind of provider, used where others are unknown."""
    return {
        kind: _own(table, f"vendors.{kind}", _UNDATED)
        for kind, table in catalogue_config_table(pricing.get("vendors", {}), "vendors").items()
    }


def catalogue_facts_of_similar_models(pricing: Mapping[str, Any]) -> tuple[ModelFamily, ...]:
    """Return the facts of models with similar names; raise Invalid as `catalogue_facts`."""
    tables = pricing.get("families", [])
    if not isinstance(tables, list):
        raise Invalid(
            "families in pricing.toml must be tables",
            field="families",
            cure="write [[families]] above each",
        )
    return tuple(_family(table, f"families.{place}") for place, table in enumerate(tables))


def _family(table: Any, place: str) -> ModelFamily:
    names = catalogue_config_texts(catalogue_config_table(table, place), "names", place)
    if not names:
        raise Invalid(
            f"[{place}] lists no models", field=f"{place}.names", cure='write names = ["o3*"]'
        )
    facts = {key: value for key, value in table.items() if key not in {"names", "kinds"}}
    return ModelFamily(
        names, _own(facts, place, _UNDATED), catalogue_config_texts(table, "kinds", place)
    )


def listed_catalogue_facts(entry: Any, place: str, as_of: date) -> ModelSettings:
    """Return the facts of one entry of the public list."""
    table = catalogue_config_table(entry, place)
    check_catalogue_config_keys(table, _LISTED, place)
    parts = {part: table[part] for part in _PARTS if part in table}
    context = catalogue_config_count(table, "context", place, least=1, most=MOST_TOKENS)
    limit = catalogue_config_count(table, "max_input_tokens", place, least=1, most=MOST_TOKENS)
    dearer = limit is not None and (context is None or limit < context)
    return ModelSettings(
        max_input_tokens=min(filter(None, (context, limit)), default=None),
        max_total_tokens=context,
        price=_price(parts, place),
        notes=(f"costs more above {limit} input tokens, so it is given no more",) if dearer else (),
        parts=parts,
        as_of=as_of,
    )


def _own(table: Any, place: str, as_of: date) -> ModelSettings:
    table = catalogue_config_table(table, place)
    check_catalogue_config_keys(table, {*_PARTS, *_NUMBERS, *_ABILITIES, "efforts", "as_of"}, place)
    parts = {part: table[part] for part in _PARTS if part in table}
    values: dict[str, Any] = {
        name: catalogue_config_count(table, name, place, least=least, most=MOST_TOKENS)
        for name, least in _NUMBERS.items()
    }
    values |= {name: catalogue_config_flag(table, name, place) for name in _ABILITIES}
    efforts = catalogue_config_texts(table, "efforts", place) if "efforts" in table else None
    return ModelSettings(
        **values,
        efforts=efforts,
        price=_price(parts, place),
        parts=parts,
        as_of=_date(table, place) if "as_of" in table else as_of,
    )


def _price(parts: Mapping[str, Any], place: str) -> Price | None:
    try:
        for part, usd in parts.items():
            catalogue_price_micro_usd(usd, part)
        return catalogue_price_of_parts(parts)
    except ValueError as error:
        raise Invalid(
            f"[{place}] is not a valid price: {error}", field=place, cure="correct it, or remove it"
        ) from None


def _date(table: Mapping[str, Any], place: str) -> date:
    """Return the date of a list; an undated one is older than all others."""
    given = table.get("as_of", _UNDATED)
    try:
        return given if isinstance(given, date) else date.fromisoformat(str(given))
    except ValueError:
        raise Invalid(
            f"as_of in {place} must be a date, not {given!r}",
            field="as_of",
            cure="write it as YYYY-MM-DD, for example 2026-11-21",
        ) from None


def _entries(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return catalogue_config_table(document.get("models", {}), "models.json")


def _alias(entries: Mapping[str, Any], tried: tuple[str, ...]) -> str | None:
    """Return the entry that lists one of the names under `also`."""
    for name in tried:
        provider, _, model = name.partition(":")
        for other, entry in entries.items():
            if other.startswith(f"{provider}:") and model in catalogue_config_table(
                entry, other
            ).get("also", ()):
                return other
    return None
