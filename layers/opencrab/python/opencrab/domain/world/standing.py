"""World standing: prices, account and policy of a bound agent, and what its world got wrong.

A world that contradicts itself is doubted: its messages are then trusted no more until the agent's
owner says so again.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Value
from opencrab.domain.world.catalogue import outbound_world_messages

STANDING = "world_standing"
"""The kind of the document that stores an agent's standing; its id is `WORLD`."""

_MOST = 2**63

Amount = Annotated[int, Field(ge=0, lt=_MOST)]
"""A number of the world's currency."""

_AMOUNTS = {
    "TRANSFER": "amount",
    "ESCROW_CREATE": "amount",
    "STAKE_CREATE": "amount",
    "BOUNTY_CREATE": "reward",
}
"""Messages that hand currency over beside their price, and the field that says how much."""


class ReadSeed(Value):
    """What became of a seed: the number of memories, or why it could not be read."""

    source: str
    memories: int = 0
    problem: str = ""


class WorldAccount(Value):
    """The newest entry of an agent's account, as its world reported it."""

    entry: Annotated[int, Field(ge=0)]
    balance: int
    missing: Annotated[int, Field(ge=0)] = 0
    """The number of entries that were never told."""


class DoubtKind(StrEnum):
    """What a world contradicted: its own account, or its own prices."""

    ACCOUNT = "account"
    PRICES = "prices"


class WorldDoubt(Value):
    """The last contradiction of a world; for accounts the reported and the expected balance."""

    kind: DoubtKind
    told: int = 0
    expected: int = 0
    at: datetime


class WorldTrust(Value):
    """The owner's policy that trusts a world's signed messages.

    `world_send` runs without an approval while the cost of a day, in the world's currency, is at
    most `daily_limit`. `spent` is the cost on `day`, a date in UTC.
    """

    daily_limit: Amount
    day: str = ""
    spent: Amount = 0

    def spent_on(self, day: str) -> int:
        """Return the cost of a day so far."""
        return self.spent if self.day == day else 0


class WorldStanding(Value):
    """An agent's standing in its world, beside what `WorldBinding` holds.

    `prices` are what each message costs in the cycle `priced`. `heard_at` is when the world was
    last heard.
    """

    prices: Annotated[dict[str, Amount], Field(max_length=64)] = Field(default_factory=dict)
    priced: Annotated[int, Field(ge=0)] = 0
    account: WorldAccount | None = None
    doubt: WorldDoubt | None = None
    trust: WorldTrust | None = None
    heard_at: datetime | None = None

    @property
    def is_trusted(self) -> bool:
        """True if the owner trusts the world's messages, and it has not contradicted itself."""
        return self.trust is not None and self.doubt is None

    def cost(self, message: str, payload: Mapping[str, Any]) -> int | None:
        """Return what a message costs in the world's currency; None if that is unknown."""
        price = self.prices.get(message)
        field = _AMOUNTS.get(message)
        amount = 0 if field is None else payload.get(field)
        if price is None or type(amount) is not int or not 0 <= amount < _MOST:
            return None
        return price + amount

    def with_trusted_cost(self, cost: int | None, now: datetime) -> "WorldStanding | None":
        """Return the standing with a message paid from the day's limit; None if it does not fit."""
        if self.trust is None or not self.is_trusted or cost is None:
            return None
        day = f"{now:%Y-%m-%d}"
        spent = self.trust.spent_on(day) + cost
        if spent > self.trust.daily_limit:
            return None
        return self.replaced(trust=self.trust.replaced(day=day, spent=spent))

    def after_message(
        self, payload: Mapping[str, Any], now: datetime, *, key_id: str
    ) -> "WorldStanding":
        """Return the standing after a message of the world, as JSON; raise Invalid.

        The account in a message about another agent than `key_id` is that agent's.
        """
        told = self.replaced(heard_at=now)
        if "prices" in payload and "cycle" in payload:
            told = told.with_prices(_prices(payload["prices"]), payload["cycle"], now)
        if "account" in payload and payload.get("agent_id", key_id) == key_id:
            told = told.with_entry(*_entry(payload["account"]), now)
        return told

    def with_prices(self, prices: dict[str, int], cycle: Any, now: datetime) -> "WorldStanding":
        """Keep the first list of a cycle: whoever decided by it must not pay more."""
        if type(cycle) is not int or (self.prices and cycle < self.priced):
            return self
        if self.prices and cycle == self.priced:
            same = prices == self.prices
            return self if same else self.replaced(doubt=WorldDoubt(kind=DoubtKind.PRICES, at=now))
        return self.replaced(prices=prices, priced=cycle)

    def with_entry(self, entry: int, change: int, balance: int, now: datetime) -> "WorldStanding":
        """Check an entry against the one before; those between that were not told are counted."""
        known = self.account
        if known is None:
            return self.replaced(account=WorldAccount(entry=entry, balance=balance))
        if entry < known.entry:
            return self
        again = entry == known.entry
        expected = known.balance if again else known.balance + change
        told = known.replaced(entry=entry, balance=balance)
        if entry > known.entry + 1:
            missing = known.missing + entry - known.entry - 1
            return self.replaced(account=told.replaced(missing=missing))
        if balance == expected:
            return self.replaced(account=told)
        doubt = WorldDoubt(kind=DoubtKind.ACCOUNT, told=balance, expected=expected, at=now)
        return self.replaced(account=told, doubt=doubt)


def _prices(told: Any) -> dict[str, int]:
    known = {message.name for message in outbound_world_messages()}
    fits = isinstance(told, dict) and all(
        name in known and type(price) is int and 0 <= price < _MOST for name, price in told.items()
    )
    if not fits:
        raise Invalid(
            "prices must be a map of messages that agents send to whole numbers from 0",
            field="prices",
            cure="docs/explanation/worlds.md has the format",
        )
    return dict(told)


def _entry(told: Any) -> tuple[int, int, int]:
    fields = told if isinstance(told, dict) else {}
    entry, change, balance = (_number(fields, name) for name in ("entry", "change", "balance"))
    if entry < 0:
        raise Invalid("account.entry must be at least 0", field="account", cure="count from 1")
    return entry, change, balance


def _number(fields: Mapping[str, Any], name: str) -> int:
    number = fields.get(name)
    if type(number) is not int or not -_MOST <= number < _MOST:
        raise Invalid(
            "account must hold the whole numbers entry, change and balance",
            field="account",
            cure="docs/explanation/worlds.md has the format",
        )
    return number
