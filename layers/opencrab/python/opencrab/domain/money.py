"""Money: prices, reservations, allowances and budgets, in integer micro-dollars."""

from typing import Annotated

from pydantic import Field

from opencrab.domain.value import MicroUsd, Value

_MILLION = 1_000_000


class Usage(Value):
    """Tokens of one model call; `cached` is the part of `input` that came from a cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class Price(Value):
    """What a model costs, in micro-dollars per million tokens."""

    input_per_million: Annotated[MicroUsd, Field(ge=0)]
    output_per_million: Annotated[MicroUsd, Field(ge=0)]

    def cost(self, usage: Usage) -> MicroUsd:
        """The cost of a call, rounded up; negative counts from a provider count as zero."""
        tokens_in, tokens_out = max(usage.input_tokens, 0), max(usage.output_tokens, 0)
        total = tokens_in * self.input_per_million + tokens_out * self.output_per_million
        return -(-total // _MILLION)

    def reservation(self, *, request_bytes: int, max_output_tokens: int) -> MicroUsd:
        """An upper bound of a call's cost: no token is shorter than one byte of UTF-8."""
        return self.cost(Usage(input_tokens=request_bytes, output_tokens=max_output_tokens))


FREE = Price(input_per_million=0, output_per_million=0)
"""The price of a model that runs on the owner's own machine."""


class Draw(Value):
    """A change of one day's budget: a block taken (positive) or the rest given back (negative).

    Without a limit it is taken whatever is left: the money was spent already.
    """

    scope: str
    day: str
    micro_usd: MicroUsd
    limit_micro_usd: MicroUsd | None


class Limits(Value):
    """How much may be spent, and the block in which a turn draws it."""

    turn_micro_usd: MicroUsd = 500_000
    agent_day_micro_usd: MicroUsd = 1_000_000
    installation_day_micro_usd: MicroUsd = 5_000_000
    block_micro_usd: MicroUsd = 50_000


INSTALLATION = "installation"


def agent_scope(agent_id: str) -> str:
    """The name of an agent's own daily budget."""
    return f"agent:{agent_id}"
