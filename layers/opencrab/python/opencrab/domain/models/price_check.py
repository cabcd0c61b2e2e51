"""Price check: which new prices are accepted, and which are suspiciously low."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.money.budget import Price
from opencrab.domain.value import Value

_CACHED_SHARE = 10
"""The divisor for a missing cache price: vendors charge about a tenth of the input's price."""
_CENTS, _DIMES = 10_000, 100_000


class Fall(Value):
    """A new price that is suspiciously low, and the one that is kept; `kept` is null if unknown."""

    kept: Price | None
    refused: Price


@dataclass(frozen=True)
class NewPrices:
    """Prices by `provider:model`: the accepted ones, and those that are too low."""

    taken: Mapping[str, DatedPrice] = field(default_factory=dict)
    refused: Mapping[str, Fall] = field(default_factory=dict)


def classify_model_prices(
    found: Mapping[str, DatedPrice], known: Mapping[str, Price | None], *, allow_lower: bool
) -> NewPrices:
    """Split new prices into accepted and suspiciously low ones; `allow_lower` accepts all."""
    low = {
        name: Fall(kept=known.get(name), refused=dated.price)
        for name, dated in found.items()
        if not allow_lower and price_falls_far(known.get(name), dated.price)
    }
    return NewPrices({name: each for name, each in found.items() if name not in low}, low)


def price_falls_far(old: Price | None, new: Price) -> bool:
    """Check whether a part costs less than half of before, or all of a new model is free."""
    if old is None:
        return max(new.dearest_input_per_million, new.output_per_million) == 0
    return any(now * 2 < before for before, now in zip(_before(old), _parts(new), strict=True))


def are_prices_of_models_per_token(pairs: list[tuple[Price, Price]]) -> bool:
    """Check whether new prices seem to be per token, not per million; pairs are (old, new).

    That is so if every model with a price above 100,000 micro-dollars falls below 10,000.
    """
    dear = [new for old, new in pairs if max(_parts(old)) > _DIMES]
    return bool(dear) and all(max(_parts(new)) < _CENTS for new in dear)


def higher_model_price(one: Price, other: Price) -> Price:
    """Return the higher of two prices, part by part."""
    parts = zip(Price.model_fields, _parts(one), _parts(other), strict=True)
    said = {name for name in Price.model_fields if getattr(one, name) is not None}
    said |= {name for name in Price.model_fields if getattr(other, name) is not None}
    return Price(**{name: max(pair) for name, *pair in parts if name in said})


def _parts(price: Price) -> Iterator[int]:
    """Yield the price of each part; a missing one counts as the price of input."""
    for name in Price.model_fields:
        part = getattr(price, name)
        yield price.input_per_million if part is None else part


def _before(price: Price) -> Iterator[int]:
    """Yield the former price of each part; a missing cache price counts as a tenth of input."""
    for name, part in zip(Price.model_fields, _parts(price), strict=True):
        untold = name == "cached_per_million" and price.cached_per_million is None
        yield part // _CACHED_SHARE if untold else part
