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
        """Whether the vendor said anything that a cost can be made of."""
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
    """What a model costs, in micro-dollars per million tokens.

    The prices of cached input and of writing to a cache are those of input where none is given.
    """

    input_per_million: _Price
    output_per_million: _Price
    cached_per_million: _Price | None = None
    cache_write_per_million: _Price | None = None
    cache_write_long_per_million: _Price | None = None

    @property
    def dearest_input_per_million(self) -> MicroUsd:
        """The most that a token of input can cost, whatever a cache makes of it."""
        others = (
            self.cached_per_million,
            self.cache_write_per_million,
            self.cache_write_long_per_million,
        )
        return max(self.input_per_million, *(price or 0 for price in others))

    def shares(self, usage: Usage) -> tuple[Share, ...]:
        """Where the cost of a call comes from; negative counts from a provider count as zero."""
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
        """The cost of a call, rounded up: what its vendor says, or else what its tokens cost."""
        if usage.reported_micro_usd is not None:
            return max(usage.reported_micro_usd, 0)
        total = sum(share.tokens * share.per_million for share in self.shares(usage))
        return -(-total // _MILLION)

    def reservation(self, *, request_tokens: int, max_output_tokens: int) -> MicroUsd:
        """An upper bound of a call's cost, at the dearest price that its input can have."""
        total = request_tokens * self.dearest_input_per_million
        total += max_output_tokens * self.output_per_million
        return -(-total // _MILLION)


def _or(price: MicroUsd | None, plain: MicroUsd) -> MicroUsd:
    return plain if price is None else price


FREE = Price(input_per_million=0, output_per_million=0)
"""The price of a model that runs on the owner's own machine."""


class BudgetDraw(Value):
    """A change of one day's budget: a block taken (positive) or the rest given back (negative).

    Without a limit it is taken whatever is left: the money was spent already.
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
    Heartbeats of an agent have a share of its day, in percent; `public_user_day` is for each member
    of the public.
    """

    turn_micro_usd: _Limit = 500_000
    session_micro_usd: Annotated[_Limit | None, AfterValidator(_zero_is_none)] = None
    agent_day_micro_usd: _Limit = 1_000_000
    installation_day_micro_usd: _Limit = 5_000_000
    heartbeat_percent: Annotated[int, Field(ge=0, le=100)] = 25
    public_user_day_micro_usd: _Limit = 100_000
    block_micro_usd: Annotated[MicroUsd, Field(ge=1, le=10**12)] = 50_000

    def agent_day(self, own: MicroUsd | None) -> MicroUsd:
        """What an agent may spend in a day: its own limit where it has one."""
        return self.agent_day_micro_usd if own is None else own

    def changed(self, changes: Mapping[str, MicroUsd]) -> "Limits":
        """These limits with those that were set at run time; names of other versions are left out.

        What `limit_changes` has let pass is never refused here.
        """
        known = {name: value for name, value in changes.items() if name in LIMITS}
        return Limits.model_validate({**dict(self), **known}) if known else self


LIMITS = tuple(Limits.model_fields)
"""The names of all limits."""


def budget_limit_changes(changes: Mapping[str, MicroUsd | None]) -> dict[str, MicroUsd | None]:
    """Changes of limits as they are to be stored, each by itself; raises Invalid.

    None returns a limit to the configured one, so that a session without a limit is stored as 0.
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
            cure="give a whole number within its bounds, or None for the configured one",
        ) from None


INSTALLATION = "installation"
WHOLE = "whole"
"""The day of a budget that has no days: a session's."""


def agent_budget_scope(agent_id: str) -> str:
    """The name of an agent's own daily budget."""
    return f"agent:{agent_id}"


def session_budget_scope(session_id: str) -> str:
    """The name of a session's budget."""
    return f"session:{session_id}"


def heartbeat_budget_scope(agent_id: str) -> str:
    """The name of what an agent's heartbeats may spend in a day."""
    return f"heartbeat:{agent_id}"


def public_budget_scope(principal_id: str) -> str:
    """The name of what one member of the public may cost in a day."""
    return f"public:{principal_id}"


def budget_exhausted_error(draw: BudgetDraw, drawn: MicroUsd | None = None) -> Exhausted:
    """The refusal of a draw that its budget has no room for; `drawn` is what was drawn before."""
    whole = draw.day == WHOLE
    of_day = "" if whole else f" for {draw.day}"
    return Exhausted(
        f"the budget of {draw.scope!r}{of_day} ({draw.limit_micro_usd} micro-dollars) is used up",
        field=draw.scope,
        cure="raise the limit in [budget] or with PUT /api/budgets"
        + ("" if whole else ", or wait for the next day (UTC)"),
        drawn_micro_usd=drawn,
    )
