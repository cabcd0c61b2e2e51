"""Model prices from the public price list, and the price of each model on an earlier day.

A call in the ledger keeps the price that it was charged at; the rows here are for reports that need
a day's price without a call of that day.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Protocol

from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.identifier import stable_id
from opencrab.domain.models.preferences import DatedPrice
from opencrab.domain.models.price_check import Fall, NewPrices
from opencrab.domain.money.budget import Price
from opencrab.domain.value import Value
from opencrab.engine.models.preferences import (
    change_model_price_preferences,
    current_model_preferences,
    require_directory_of_models,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

PRICE_ROW = "price_row"
"""The kind of document for a model's price from a day on, in order of days."""

KEPT = timedelta(days=400)
_AT_ONCE = 20


class FetchPrices(Protocol):
    """The request for the public prices of known models; `limits` are their most input tokens.

    Raises Unavailable and Invalid if there is no usable list.
    """

    def __call__(
        self, known: Mapping[str, Price | None], limits: Mapping[str, int], /
    ) -> NewPrices:
        """Return new prices, and those that fall too far to be accepted without confirmation."""


class PriceRow(Value):
    """The price of a model from a day on, and the price `before`: null if it was unknown."""

    name: str
    since: date
    price: Price
    before: Price | None = None

    @property
    def id(self) -> str:
        """The id of the document: all rows of a model are adjacent, ordered by day."""
        return f"{stable_id(self.name)}-{self.since.isoformat()}"


def update_public_model_prices(
    runtime: Runtime, fetch: FetchPrices
) -> tuple[int, Mapping[str, Fall]]:
    """Fetch and store the public prices, with a row for each price that changed.

    Returns the number of stored prices, and those that fall too far and were not stored. Raises
    Unavailable and Invalid as `fetch`; prices then stay as they are.
    """
    infos = require_directory_of_models(runtime.directory).infos()
    known = {info.name: info.price for info in infos}
    newest = fetch(known, {info.name: info.max_input_tokens for info in infos})
    stored = current_model_preferences(runtime)
    before = stored.preferences.prices
    # Where our own price list is dearer, the public one never comes to what is known.
    new = {
        name: dated
        for name, dated in newest.taken.items()
        if name not in before or before[name].price != dated.price
    }
    refused = dict(newest.refused)
    if new:
        stored, low = change_model_price_preferences(runtime, new)
        refused |= low
    _keep(runtime, stored.preferences.prices, known)
    return len(new.keys() - refused.keys()), refused


def model_price_on_day(
    facts: Documents, name: str, day: date, *, now: Price | None
) -> Price | None:
    """Return the price of a model on a day, None if unknown; `now` is today's price.

    Without any row, today's price is returned.
    """
    rows = list(_rows(facts, name))
    if not rows:
        return now
    found = rows[0].before
    for row in rows:
        if row.since <= day:
            found = row.price
    return found


def _keep(
    runtime: Runtime, prices: Mapping[str, DatedPrice], known: Mapping[str, Price | None]
) -> None:
    """Write missing price rows, also those that a crash or a manual change left out.

    A row has the price that calls are charged, which is above the public one if settings say so.
    """
    facts, price = runtime.home.facts, require_directory_of_models(runtime.directory).price
    last = {row.name: row.price for row in map(_row, _pages(facts))}
    missing = [
        PriceRow(name=name, since=dated.as_of, price=charged, before=known.get(name))
        for name, dated in sorted(prices.items())
        if (charged := price(name) or dated.price) != last.get(name)
    ]
    expires = runtime.clock.now() + KEPT
    for start in range(0, len(missing), _AT_ONCE):
        made = (
            new_fact(INSTALLATION_FACTS, PRICE_ROW, row.id, row, expires_at=expires)
            for row in missing[start : start + _AT_ONCE]
        )
        facts.commit(*(fact.replaced(version=0) for fact in made))


def _rows(facts: Documents, name: str) -> Iterator[PriceRow]:
    first = f"{stable_id(name)}-"
    for fact in _pages(facts, first):
        if not fact.id.startswith(first):
            return
        yield _row(fact)


def _row(fact: Document) -> PriceRow:
    return fact.read(PriceRow)


def _pages(facts: Documents, after: str = "") -> Iterator[Document]:
    return all_pages(facts, INSTALLATION_FACTS, PRICE_ROW, after=after)
