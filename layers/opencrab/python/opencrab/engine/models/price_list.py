"""Pricing: what models cost by today's public list, and what each of them cost on an earlier day.

A call in the ledger keeps the price that it was charged at; the rows here are for whoever reckons
with a day's price without having a call of it.
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
    change_model_prices,
    current_preferences,
    require_provider_directory,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

PRICE_ROW = "price_row"
"""Kind of the facts: a row for each price of a model from a day on, in order of days."""

KEPT = timedelta(days=400)
_AT_ONCE = 20


class FetchPrices(Protocol):
    """Asks the public list what known models cost now; `limits` are their most input tokens.

    Raises Unavailable and Invalid where there is no list that can be used.
    """

    def __call__(
        self, known: Mapping[str, Price | None], limits: Mapping[str, int], /
    ) -> NewPrices:
        """Prices that are new, and those that fall too far to be believed unasked."""


class PriceRow(Value):
    """What a model costs from a day on, and did `before`: null where nobody knew a price."""

    name: str
    since: date
    price: Price
    before: Price | None = None

    @property
    def id(self) -> str:
        """Where it lies: all rows of a model one after the other, by day."""
        return f"{stable_id(self.name)}-{self.since.isoformat()}"


def fetch_public_prices(runtime: Runtime, fetch: FetchPrices) -> tuple[int, Mapping[str, Fall]]:
    """Take over what the public list says, and keep a row for each price that changed.

    The number of prices taken, and those that fall too far and changed nothing. Raises Unavailable
    and Invalid as `fetch`; prices then stay as they are.
    """
    infos = require_provider_directory(runtime.directory).infos()
    known = {info.name: info.price for info in infos}
    newest = fetch(known, {info.name: info.max_input_tokens for info in infos})
    stored = current_preferences(runtime)
    before = stored.preferences.prices
    # Where our own price list is dearer, the public one never comes to what is known.
    new = {
        name: dated
        for name, dated in newest.taken.items()
        if name not in before or before[name].price != dated.price
    }
    refused = dict(newest.refused)
    if new:
        stored, low = change_model_prices(runtime, new)
        refused |= low
    _keep(runtime, stored.preferences.prices, known)
    return len(new.keys() - refused.keys()), refused


def price_on_day(facts: Documents, name: str, day: date, *, now: Price | None) -> Price | None:
    """What a model cost on a day; `now` is what it costs today, for days since the last row."""
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
    """Write rows that are missing, those included that a crash or a change by hand left out.

    They tell what calls are charged, which is more than what is public where settings say so.
    """
    facts, price = runtime.home.facts, require_provider_directory(runtime.directory).price
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
