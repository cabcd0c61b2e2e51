"""New prices: which of them are taken over unasked, and which would make too much look cheap."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.money.budget import Price
from opencrab.domain.value import Value

_CACHED_SHARE = 10
"""Vendors read from their caches at about a tenth of the input's price."""
_CENTS, _DIMES = 10_000, 100_000


class Fall(Value):
    """A new price that is suspiciously low, and the one that is kept; `kept` is null if unknown."""

    kept: Price | None
    refused: Price


@dataclass(frozen=True)
class NewPrices:
    """Prices by `provider:model`: those that are taken over, and those that fall too far."""

    taken: Mapping[str, DatedPrice] = field(default_factory=dict)
    refused: Mapping[str, Fall] = field(default_factory=dict)


def classify_prices(
    found: Mapping[str, DatedPrice], known: Mapping[str, Price | None], *, allow_lower: bool
) -> NewPrices:
    """The new prices, sorted by whether somebody must have said that they may be so low."""
    low = {
        name: Fall(kept=known.get(name), refused=dated.price)
        for name, dated in found.items()
        if not allow_lower and price_falls_far(known.get(name), dated.price)
    }
    return NewPrices({name: each for name, each in found.items() if name not in low}, low)


def price_falls_far(old: Price | None, new: Price) -> bool:
    """Whether a part costs less than half of what it did, or all costs nothing all at once."""
    if old is None:
        return max(new.dearest_input_per_million, new.output_per_million) == 0
    return any(now * 2 < before for before, now in zip(_before(old), _parts(new), strict=True))


def are_prices_per_token(pairs: list[tuple[Price, Price]]) -> bool:
    """Whether new prices look like those of single tokens; each pair is an old one and a new."""
    dear = [new for old, new in pairs if max(_parts(old)) > _DIMES]
    return bool(dear) and all(max(_parts(new)) < _CENTS for new in dear)


def higher_price(one: Price, other: Price) -> Price:
    """The dearer of two prices, part by part."""
    parts = zip(Price.model_fields, _parts(one), _parts(other), strict=True)
    said = {name for name in Price.model_fields if getattr(one, name) is not None}
    said |= {name for name in Price.model_fields if getattr(other, name) is not None}
    return Price(**{name: max(pair) for name, *pair in parts if name in said})


def _parts(price: Price) -> Iterator[int]:
    """What each part costs; one that is not told costs as much as the input."""
    for name in Price.model_fields:
        part = getattr(price, name)
        yield price.input_per_million if part is None else part


def _before(price: Price) -> Iterator[int]:
    """What each part cost; a cache that nobody priced is expected to be cheaper."""
    for name, part in zip(Price.model_fields, _parts(price), strict=True):
        untold = name == "cached_per_million" and price.cached_per_million is None
        yield part // _CACHED_SHARE if untold else part
