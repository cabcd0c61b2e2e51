"""Money: prices, reservations, allowances and budgets, in integer micro-dollars."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from opencrab.domain.errors import Exhausted, Invalid
from opencrab.domain.value import MicroUsd, Value

_MILLION = 1_000_000


class Usage(Value):
    """Tokens of one model call, as its vendor counted them.

    `cached`, `cache_write` and `cache_write_long` are parts of `input`: tokens read from a prompt
    cache, written to one, and written for an hour. `reasoning` is part of `output`.
    `reported_micro_usd` is the cost that the vendor itself reports.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_long_tokens: int = 0
    reasoning_tokens: int = 0
    reported_micro_usd: MicroUsd | None = None

    @property
    def is_counted(self) -> bool:
        """True if the vendor reported tokens or a cost."""
        tokens = max(self.input_tokens, self.output_tokens)
        return tokens > 0 or self.reported_micro_usd is not None


class Share(Value):
    """Cost of one kind of tokens of a call, rounded down; `per_million` is its price."""

    kind: str
    tokens: int
    per_million: MicroUsd
    micro_usd: MicroUsd


_Price = Annotated[MicroUsd, Field(ge=0, le=10**12)]


class Price(Value):
    """The price of a model, in micro-dollars per million tokens.

    A missing price for cached input or for writing to a cache is that of input.
    """

    input_per_million: _Price
    output_per_million: _Price
    cached_per_million: _Price | None = None
    cache_write_per_million: _Price | None = None
    cache_write_long_per_million: _Price | None = None

    @property
    def dearest_input_per_million(self) -> MicroUsd:
        """The highest price of input, cached or not, in micro-dollars per million tokens."""
        others = (
            self.cached_per_million,
            self.cache_write_per_million,
            self.cache_write_long_per_million,
        )
        return max(self.input_per_million, *(price or 0 for price in others))

    def shares(self, usage: Usage) -> tuple[Share, ...]:
        """Split the cost of a call by kind of token; negative counts from a provider are zero."""
        total = max(usage.input_tokens, 0)
        cached = min(max(usage.cached_tokens, 0), total)
        written = min(max(usage.cache_write_tokens, 0), total - cached)
        kept = min(max(usage.cache_write_long_tokens, 0), total - cached - written)
        plain = self.input_per_million
        counted = (
            ("input", total - cached - written - kept, plain),
            ("cached", cached, _or(self.cached_per_million, plain)),
            ("cache_write", written, _or(self.cache_write_per_million, plain)),
            ("cache_write_long", kept, _or(self.cache_write_long_per_million, plain)),
            ("output", max(usage.output_tokens, 0), self.output_per_million),
        )
        return tuple(
            Share(kind=kind, tokens=tokens, per_million=price, micro_usd=tokens * price // _MILLION)
            for kind, tokens, price in counted
            if tokens
        )

    def cost(self, usage: Usage) -> MicroUsd:
        """Compute the cost of a call, rounded up: the vendor's own figure, else by its tokens."""
        if usage.reported_micro_usd is not None:
            return max(usage.reported_micro_usd, 0)
        total = sum(share.tokens * share.per_million for share in self.shares(usage))
        return -(-total // _MILLION)

    def reservation(self, *, request_tokens: int, max_output_tokens: int) -> MicroUsd:
        """Compute an upper bound of a call's cost, at the highest price of input."""
        total = request_tokens * self.dearest_input_per_million
        total += max_output_tokens * self.output_per_million
        return -(-total // _MILLION)


def _or(price: MicroUsd | None, plain: MicroUsd) -> MicroUsd:
    return plain if price is None else price


FREE = Price(input_per_million=0, output_per_million=0)
"""The price of a model that runs on the owner's own machine."""


class BudgetDraw(Value):
    """A change of one day's budget: a block taken (positive) or the rest given back (negative).

    With limit None it is taken even beyond the budget: the money was already spent.
    """

    scope: str
    day: str
    micro_usd: MicroUsd
    limit_micro_usd: MicroUsd | None


_Limit = Annotated[MicroUsd, Field(ge=0, le=10**12)]


def _zero_is_none(limit: MicroUsd | None) -> MicroUsd | None:
    return limit or None


class Limits(Value):
    """Spending limits, and the size of the block that a turn reserves at a time.

    A session has no limit unless one is set: 0 and null mean the same there, and null is stored.
    Heartbeats of an agent have a share of its day's limit, in percent; `public_user_day` is for
    each member of the public.
    """

    turn_micro_usd: _Limit = 500_000
    session_micro_usd: Annotated[_Limit | None, AfterValidator(_zero_is_none)] = None
    agent_day_micro_usd: _Limit = 1_000_000
    installation_day_micro_usd: _Limit = 5_000_000
    heartbeat_percent: Annotated[int, Field(ge=0, le=100)] = 25
    public_user_day_micro_usd: _Limit = 100_000
    block_micro_usd: Annotated[MicroUsd, Field(ge=1, le=10**12)] = 50_000

    def agent_day(self, own: MicroUsd | None) -> MicroUsd:
        """Return the daily limit of an agent: its own if it has one."""
        return self.agent_day_micro_usd if own is None else own

    def of_budget(self, scope: str, own_day: MicroUsd | None = None) -> MicroUsd | None:
        """Return the limit of a budget such as `agent:ID` in micro-dollars; None if it has none.

        `own_day` is the daily limit that the agent itself was given.
        """
        kind = scope.partition(":")[0]
        if kind == "heartbeat":
            return self.agent_day(own_day) * self.heartbeat_percent // 100
        if kind == "agent":
            return self.agent_day(own_day)
        name = LIMIT_OF_BUDGET.get(kind)
        return None if name is None else getattr(self, name)

    def changed(self, changes: Mapping[str, MicroUsd]) -> "Limits":
        """Return these limits with the changes made at run time; unknown names are ignored.

        Changes that `budget_limit_changes` accepted are always valid here.
        """
        known = {name: value for name, value in changes.items() if name in LIMITS}
        return Limits.model_validate({**dict(self), **known}) if known else self


LIMITS = tuple(Limits.model_fields)
"""The names of all limits."""

LIMIT_OF_BUDGET = {
    "turn": "turn_micro_usd",
    "session": "session_micro_usd",
    "agent": "agent_day_micro_usd",
    "heartbeat": "heartbeat_percent",
    "public": "public_user_day_micro_usd",
    "installation": "installation_day_micro_usd",
}
"""The limit of each kind of budget, by what stands before the colon in the budget's scope."""


def budget_limit_changes(changes: Mapping[str, MicroUsd | None]) -> dict[str, MicroUsd | None]:
    """Validate changes of limits, each by itself, and return them as they are stored.

    Raises Invalid. None returns a limit to the configured one; therefore a session without a limit
    is stored as 0.
    """
    return {name: _validate_limit(name, limit) for name, limit in changes.items()}


def _validate_limit(name: str, limit: MicroUsd | None) -> MicroUsd | None:
    if name not in LIMITS:
        raise Invalid(
            f"there is no limit {name!r}", field=name, cure=f"use one of {', '.join(LIMITS)}"
        )
    if limit is None:
        return None
    try:
        return getattr(Limits.model_validate({name: limit}), name) or 0
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise Invalid(
            f"the limit {name} is invalid: {why}",
            field=name,
            cure=f"give {_unit(name)}, or null for the configured limit",
        ) from None


def _unit(name: str) -> str:
    if name.endswith("_percent"):
        return "a whole number of percent"
    return "a whole number of micro-dollars (1 USD is 1,000,000)"


INSTALLATION = "installation"
WHOLE = "whole"
"""The day of a budget that has no days: a session's."""


def agent_budget_scope(agent_id: str) -> str:
    """Return the name of an agent's daily budget."""
    return f"agent:{agent_id}"


def session_budget_scope(session_id: str) -> str:
    """Return the name of a session's budget."""
    return f"session:{session_id}"


def heartbeat_budget_scope(agent_id: str) -> str:
    """Return the name of the daily budget of an agent's heartbeats."""
    return f"heartbeat:{agent_id}"


def public_budget_scope(principal_id: str) -> str:
    """Return the name of the daily budget of one member of the public."""
    return f"public:{principal_id}"


def budget_exhausted_error(draw: BudgetDraw, drawn: MicroUsd | None = None) -> Exhausted:
    """Build the error for a draw beyond its budget; `drawn` is what was drawn before."""
    whole = draw.day == WHOLE
    of_day = "" if whole else f" for {draw.day}"
    return Exhausted(
        f"the budget of {draw.scope!r}{of_day} ({draw.limit_micro_usd} micro-dollars) is used up",
        field=draw.scope,
        cure="raise the limit in [budget] or with PUT /api/budgets"
        + ("" if whole else ", or wait for the next day (UTC)"),
        drawn_micro_usd=drawn,
    )
