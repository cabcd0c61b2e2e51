"""Public price lists, as genai-prices publishes them: read for the build, and fetched on request.

A model may cost more above some number of input tokens, or at some hours. Whatever is taken from
such an entry stays true: the lower price with a limit on the input, and the dearest hour.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Any, TypeVar
from urllib.parse import urlsplit

from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.wire.address import checked_wire_base_url
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.models.preferences import PRICES, DatedPrice
from opencrab.domain.models.price_check import (
    NewPrices,
    are_prices_of_models_per_token,
    classify_model_prices,
)
from opencrab.domain.money.budget import Price

PROVIDERS = {
    "openai": "openai",
    "azure": "azure",
    "anthropic": "anthropic",
    "aws": "bedrock",
    "google": "google",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "x-ai": "xai",
    "mistral": "mistral",
    "groq": "groq",
}
"""Providers as the list names them, and as we do."""

MOST_USD = 10_000
"""No million tokens costs more; whatever says so is a mistake."""

T = TypeVar("T")

_CLAUDE = "claude-"
_OK = 200
_TIMEOUT_SECONDS = 20.0
_MICRO_USD = 1_000_000
_PARTS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_long",
}
_OTHER_UNITS = re.compile(r"requests_|audio_hours|mchars|messages_")
_OTHER_MODELS = re.compile(
    r"image|audio|voice|tts|speech|sonic|transcri|whisper|realtime|live|dall-e|sora|veo|imagen|lyria"
    r"|moderation|streaming|banana|safety|search-|-research|computer-use|robotics|-instruct$"
    r"|:batch$|:free$|:extended$"
)
_OLD_MODELS = re.compile(r"^ft:|ft-$|davinci|babbage|curie|^ada$|vision-preview|^claude-(?:2|v1)")


@dataclass(frozen=True)
class PriceEntry:
    """One list entry: prices in US dollars per million tokens by part, and other model names.

    The prices hold for inputs of at most `max_input_tokens`; `dearest` are those beyond it.
    """

    parts: Mapping[str, Decimal]
    dearest: Mapping[str, Decimal]
    context: int | None = None
    max_input_tokens: int | None = None
    also: tuple[str, ...] = ()

    def price(self, input_tokens: int | None = None) -> Price | None:
        """Return the price of inputs up to a number of tokens; None if the parts are incomplete."""
        limit = self.max_input_tokens
        within = input_tokens is None or limit is None or input_tokens <= limit
        return catalogue_price_of_parts(self.parts if within else self.dearest)


def catalogue_price_of_parts(parts: Mapping[str, Any]) -> Price | None:
    """Build a price from parts in US dollars per million tokens, rounded up to micro-dollars.

    None unless input and output are given. Raises ValueError, naming the invalid part.
    """
    micro = {
        part: catalogue_price_micro_usd(usd, part) for part, usd in parts.items() if usd is not None
    }
    if "input" not in micro or "output" not in micro:
        return None
    return Price(**{f"{part}_per_million": amount for part, amount in micro.items()})


def catalogue_price_micro_usd(usd: Any, part: str) -> int:
    """Convert US dollars to integer micro-dollars, rounded up; raise ValueError if invalid."""
    try:
        amount = Decimal("NaN") if isinstance(usd, bool) else Decimal(str(usd))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= MOST_USD:
        message = f"{part} must be from 0 to {MOST_USD} US dollars per million tokens, not {usd!r}"
        raise ValueError(message)
    return int((amount * _MICRO_USD).to_integral_value(ROUND_CEILING))


def read_provider_price_list(document: Any, today: date) -> dict[str, PriceEntry]:
    """Return a list's chat and embedding models by `provider:model`; skip invalid entries."""
    found = {}
    for provider in _objects(document):
        ours = PROVIDERS.get(str(provider.get("id")))
        if ours is None:
            continue
        for model in _objects(provider.get("models")):
            name = model.get("id")
            if isinstance(name, str) and _is_wanted(ours, name):
                entry = _entry(model, today, with_names=ours != "openrouter")
                if entry is not None:
                    found[f"{ours}:{name}"] = entry
    return dict(sorted(found.items()))


def newest_provider_prices(
    transport: Transport,
    url: str,
    known: Mapping[str, Price | None],
    today: date,
    *,
    limits: Mapping[str, int] | None = None,
    allow_lower: bool = False,
) -> NewPrices:
    """Fetch the public list, and return new prices of the known models.

    `limits` are each model's maximum input tokens: if a higher price tier begins below, the highest
    price is returned. A large price drop is rejected unless `allow_lower` is True. Raises Invalid
    for an unsafe URL, and Unavailable if the list cannot be fetched or is in another unit.
    """
    listed = provider_prices_by_normal_name(
        read_provider_price_list(_fetch_price_list(transport, url), today)
    )
    if not listed:
        raise Unavailable(
            f"the price list at {url!r} contains no models", cure="correct prices_url in [llm]"
        )
    found = {name: _listed_price(listed, name, (limits or {}).get(name)) for name in known}
    pairs = [(price, new) for name, price in known.items() if price and (new := found[name])]
    if are_prices_of_models_per_token(pairs):
        raise Unavailable(
            f"the price list at {url!r} was rejected: its prices are all less than a tenth of the "
            "known ones, so they appear to be per token, not per million tokens",
            cure="set prices_url in [llm] to a list in US dollars per million tokens",
        )
    newest = {
        name: DatedPrice(price=new, as_of=today)
        for name, new in found.items()
        if new is not None and new != known[name]
    }
    return classify_model_prices(
        dict(list(newest.items())[:PRICES]), known, allow_lower=allow_lower
    )


def _listed_price(listed: Mapping[str, PriceEntry], name: str, limit: int | None) -> Price | None:
    entry = _find(listed, name)
    return None if entry is None else entry.price(limit)


def model_spellings_in_catalogue(name: str) -> tuple[str, ...]:
    """Return a `provider:model` and the other spellings of Anthropic's model names."""
    dashed = _normal_catalogue_model_name(name)
    if dashed == name and not name.partition(":")[2].startswith(_CLAUDE):
        return (name,)
    return (name, dashed, re.sub(r"-20[0-9]{6}$", "", dashed))


def _normal_catalogue_model_name(name: str) -> str:
    """Return the normalized spelling of a `provider:model`, used to search all lists."""
    provider, _, model = name.partition(":")
    return f"{provider}:{anthropic_name_in_catalogue(model)}" if model.startswith(_CLAUDE) else name


def provider_prices_by_normal_name(entries: Mapping[str, T]) -> dict[str, T]:
    """Return entries by normalized name; an entry written so itself takes precedence."""
    return {_normal_catalogue_model_name(name): entry for name, entry in entries.items()} | {
        name: entry for name, entry in entries.items() if _normal_catalogue_model_name(name) == name
    }


def anthropic_name_in_catalogue(model: str) -> str:
    """Return a model's name as Anthropic's API writes it, with "-" for "." in versions."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model)


def _find(listed: Mapping[str, PriceEntry], name: str) -> PriceEntry | None:
    entry = next(
        (listed[each] for each in model_spellings_in_catalogue(name) if each in listed), None
    )
    if entry is not None:
        return entry
    provider, _, model = name.partition(":")
    return next(
        (
            each
            for other, each in listed.items()
            if model in each.also and other.startswith(f"{provider}:")
        ),
        None,
    )


def _fetch_price_list(transport: Transport, url: str) -> Any:
    parts = urlsplit(checked_wire_base_url(url, provider="prices_url"))
    if parts.scheme != "https":
        raise Invalid(
            "prices_url must begin with https://",
            field="llm.prices_url",
            cure="correct it in [llm]",
        )
    try:
        reply = transport.send(url, headers={}, timeout_seconds=_TIMEOUT_SECONDS)
    except ModelCallFailed as error:
        raise Unavailable(
            f"the price list cannot be fetched: {error.message}",
            cure="check the network; the current prices stay in use",
        ) from error
    if reply.status != _OK:
        raise Unavailable(
            f"the price list at {url!r} returned status {reply.status}",
            cure="try again later, or correct llm.prices_url; the current prices stay in use",
        )
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise Unavailable(
            f"the price list at {url!r} is not JSON",
            cure="correct llm.prices_url; the current prices stay in use",
        ) from None


def _is_wanted(provider: str, model: str) -> bool:
    """Check whether a model generates or embeds text, under a name its provider accepts."""
    if provider == "openrouter":
        return "/" in model and not _OTHER_MODELS.search(model.removesuffix("-instruct"))
    if provider == "google" and not model.startswith(("gemini-", "gemma-")):
        return False
    return not _OTHER_MODELS.search(model) and not _OLD_MODELS.search(model)


def _entry(model: Mapping[str, Any], today: date, *, with_names: bool) -> PriceEntry | None:
    tables = list(_prices(model.get("prices"), today))
    if not tables or any(_OTHER_UNITS.search(unit) for table in tables for unit in table):
        return None
    base: dict[str, Decimal] = {}
    dearest: dict[str, Decimal] = {}
    starts: list[int] = []
    for table in tables:
        for unit, part in _PARTS.items():
            amounts = _amounts(table.get(unit))
            if amounts is None:
                continue
            low, high, start = amounts
            base[part] = max(low, base.get(part, low))
            dearest[part] = max(high, dearest.get(part, high))
            starts += [] if start is None else [start]
    if "embed" in str(model.get("id")):
        base.setdefault("output", Decimal(0))
        dearest.setdefault("output", Decimal(0))
    context = _count(model.get("context_window"))
    names = _equals(model.get("match")) - {model["id"]} if with_names else set()
    also = tuple(sorted(name for name in names if not _OTHER_MODELS.search(name)))
    entry = PriceEntry(base, dearest, context, min(starts, default=None), also)
    return entry if _is_priced(entry) else None


def _is_priced(entry: PriceEntry) -> bool:
    try:
        return entry.price() is not None and catalogue_price_of_parts(entry.dearest) is not None
    except ValueError:
        return False


def _prices(prices: Any, today: date) -> Iterator[Mapping[str, Any]]:
    """Yield the price tables valid on a day: the newest that has begun, and time-of-day ones."""
    if isinstance(prices, Mapping):
        yield prices
        return
    lasting: Mapping[str, Any] | None = None
    hours: list[Mapping[str, Any]] = []
    for each in _objects(prices):
        constraint = each.get("constraint") or {}
        table = each.get("prices")
        if not isinstance(table, Mapping) or not isinstance(constraint, Mapping):
            continue
        if "start_time" in constraint:
            hours.append(table)
        elif str(constraint.get("start_date", "")) <= today.isoformat():
            lasting, hours = table, []
    yield from ([] if lasting is None else [lasting])
    yield from hours


def _amounts(amount: Any) -> tuple[Decimal, Decimal, int | None] | None:
    """Return base price, highest price, and the input tokens above which the price rises."""
    if not isinstance(amount, Mapping):
        plain = _decimal(amount)
        return None if plain is None else (plain, plain, None)
    base = _decimal(amount.get("base"))
    if base is None:
        return None
    tiers = [(_count(tier.get("start")), _decimal(tier.get("price"))) for tier in _tiers(amount)]
    dearer = [(start, price) for start, price in tiers if start and price and price > base]
    first = min((start for start, _ in dearer), default=None)
    return base, max((price for _, price in dearer), default=base), first


def _tiers(amount: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return _objects(amount.get("tiers"))


def _equals(match: Any, depth: int = 3) -> set[str]:
    """Return the names that a match rule of the list accepts exactly."""
    if not isinstance(match, Mapping) or not depth:
        return set()
    exact = match.get("equals")
    names = {exact} if isinstance(exact, str) else set()
    return names.union(*(_equals(each, depth - 1) for each in _objects(match.get("or"))))


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _count(value: Any) -> int | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return value if number and value > 0 else None


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (
        (each for each in value if isinstance(each, Mapping))
        if isinstance(value, list)
        else iter(())
    )
