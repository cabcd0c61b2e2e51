"""The usage ledger: one row for every model call, with any result."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import MicroUsd, ShortText, Unit, Value


class Judgement(Value):
    """An agent's rating of one of its own answers; it can be given once."""

    quality_score: Unit
    task_success: bool | None = None
    self_evaluation: ShortText = ""
    would_use_again: bool | None = None
    better_model_suggestion: ShortText | None = None


class Settlement(Value):
    """What an unconfirmed call cost after all; `held` is what was charged for it until then.

    `by` is the provider whose usage said so, or the owner who did; `usage` is what the provider
    counted, if it was asked.
    """

    cost: Annotated[MicroUsd, Field(ge=0, le=10**12)]
    held: MicroUsd
    by: str
    at: datetime
    usage: Usage | None = None

    @property
    def change(self) -> MicroUsd:
        """The micro-dollars to take from the budgets; negative is given back to them."""
        return self.cost - self.held


_TIME = "%Y%m%dT%H%M%S.%fZ"


class UsageRow(Value):
    """One call of a model; `cost` is what the budgets were charged, `reserved` what was reserved.

    `unknown` is the state of a call whose worker died: it is charged in full. The last five fields
    are an agent's rating of the answer; None means that it was not rated, and is not a low rating.
    `provider_call_id` is the provider's own id of a call without an answer, and `settlement` what
    became of its cost; neither is stored where there is none. `opens` says that the agent begins a
    session with this call: it is counted when the row is written, and not stored in the row.
    """

    agent_id: str
    session_id: str
    turn_id: str
    n: int
    at: datetime
    trigger: Trigger
    provider: str
    model: str
    purpose: Use
    task_type: str
    complexity: Unit
    tier: int
    chosen_by: str
    state: CallState
    fault: Fault | None = None
    usage: Usage = Field(default_factory=Usage)
    reserved: MicroUsd
    cost: MicroUsd
    price: Price | None = None
    latency_ms: int | None = None
    first_token_ms: int | None = None
    provider_call_id: str = Field(default="", exclude_if=lambda given: not given)
    settlement: Settlement | None = Field(default=None, exclude_if=lambda given: given is None)
    opens: bool = Field(default=False, exclude=True)
    quality_score: Unit | None = None
    task_success: bool | None = None
    self_evaluation: ShortText | None = None
    would_use_again: bool | None = None
    better_model_suggestion: ShortText | None = None

    @classmethod
    def of_call(
        cls,
        turn: Turn,
        intent: ModelIntent,
        result: ModelResult,
        at: datetime,
        *,
        opens: bool = False,
    ) -> "UsageRow":
        """Build the row of a call that has ended, at the time in its result, else at `at`.

        So its id is known before it is written, whichever worker writes it. `opens` says that the
        agent begins a session with it.
        """
        provider, _, model = intent.model.partition(":")
        answer = result.answer
        return cls(
            agent_id=turn.agent_id,
            session_id=turn.session_id,
            turn_id=turn.id,
            n=intent.n,
            at=result.at or at,
            trigger=turn.trigger,
            provider=provider,
            model=model,
            purpose=intent.purpose,
            task_type=intent.task_type,
            complexity=intent.complexity,
            tier=intent.tier,
            chosen_by=intent.chosen_by,
            state=result.state,
            fault=result.cause or result.fault,
            usage=answer.usage if answer else result.usage or Usage(),
            reserved=intent.reserved,
            cost=result.cost,
            price=intent.price,
            latency_ms=None if result.state is CallState.UNKNOWN else result.latency_ms,
            first_token_ms=answer.first_token_ms if answer else None,
            provider_call_id=result.provider_call_id,
            opens=opens,
        )

    def with_judgement(self, judgement: Judgement) -> "UsageRow":
        """Return the row with its agent's rating; raises Conflict for a different second one."""
        changed = self.replaced(**dict(judgement))
        if self.quality_score is not None and changed != self:
            raise Conflict(
                f"answer {self.id!r} was already rated",
                field="metrics_id",
                cure="an answer is rated once; the first rating counts",
            )
        return changed

    def without_evaluation(self) -> "UsageRow":
        """Return the row without the rating's text; its numbers stay."""
        return self.replaced(self_evaluation=None)

    def with_settlement(self, settlement: Settlement) -> "UsageRow":
        """Return the row with the cost that its provider or an owner told.

        A row that was settled at the same cost is returned unchanged. Raises Conflict for one that
        was settled at another cost, or that is not unconfirmed.
        """
        if self.settlement is not None and self.settlement.cost == settlement.cost:
            return self
        if self.settlement is not None:
            raise Conflict(
                f"call {self.id!r} was already settled at {self.settlement.cost} micro-dollars by "
                f"{self.settlement.by!r}",
                field="call",
                cure="a call is settled once; the first settlement counts",
            )
        if not self.unconfirmed_micro_usd:
            raise Conflict(
                f"call {self.id!r} is not unconfirmed: nothing is held for it",
                field="call",
                cure="see `opencrab costs reconcile` for the unconfirmed calls",
            )
        usage = settlement.usage or self.usage
        return self.replaced(cost=settlement.cost, usage=usage, settlement=settlement)

    @property
    def unconfirmed_micro_usd(self) -> MicroUsd:
        """The part of the cost that is held because the call was perhaps billed.

        It is the reservation of a call without an answer whose vendor counted nothing, until it is
        settled.
        """
        certain = self.state is CallState.COMPLETED or self.settlement is not None
        return 0 if certain or self.usage.is_counted else self.cost

    @property
    def id(self) -> str:
        """The row's metrics id: it sorts by time, and the row is stored under it."""
        return usage_row_id(self.at, self.turn_id, self.n)


def usage_row_id(at: datetime, turn_id: str, n: int) -> str:
    """Return the metrics id of a turn's call that ended at a time."""
    return f"{ledger_row_time(at)}-{turn_id}-{n:04d}"


def turn_of_ledger_row(row_id: str) -> str:
    """Return the id of the turn whose call a row id names; raises Invalid for other texts."""
    if not is_usage_row_id(row_id):
        raise Invalid(
            f"{row_id[:100]!r} is not the ID of a model call",
            field="call",
            cure="use an ID that `opencrab costs reconcile` lists",
        )
    return row_id.partition("-")[2].rpartition("-")[0]


def ledger_row_time(at: datetime) -> str:
    """Format a time (UTC) as the beginning of row ids."""
    return at.strftime(_TIME)


_NEXT = "!"
"""A suffix that makes a bound just above an id: no character of an id sorts before it."""

_ROW_ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[!-~]{1,128}-[0-9]{4,9}")


def is_usage_row_id(text: str) -> bool:
    """Check whether a text has the form of a row id; the row need not exist."""
    return _ROW_ID.fullmatch(text) is not None


def usage_row_id_bounds(
    since: datetime | None, until: datetime | None, after: str | None, *, oldest_first: bool = False
) -> tuple[str, str]:
    """Return the bounds of row ids for a query: low <= id < high.

    `after` is the id of the last row read; read newest first, the next rows are earlier in time.
    Raises Invalid if `after` is no row id.
    """
    if after is not None and not is_usage_row_id(after):
        raise Invalid(
            f"{after[:100]!r} is not a row ID",
            field="after",
            cure="use the ID of the last row that you have",
        )
    low = ledger_row_time(since.astimezone(UTC)) if since else "0"
    high = ledger_row_time(until.astimezone(UTC)) if until else ":"
    if after is None:
        return low, high
    return (max(low, after + _NEXT), high) if oldest_first else (low, min(high, after))


class Period(StrEnum):
    """The period of a report."""

    LAST_HOUR = "last_hour"
    LAST_DAY = "last_day"
    LAST_WEEK = "last_week"
    LAST_MONTH = "last_month"
    ALL = "all"

    def since(self, now: datetime) -> datetime | None:
        """Return the beginning of the period; None if it has none. A month is 30 days."""
        length = _LENGTHS.get(self)
        return None if length is None else now - length


_LENGTHS = {
    Period.LAST_HOUR: timedelta(hours=1),
    Period.LAST_DAY: timedelta(days=1),
    Period.LAST_WEEK: timedelta(weeks=1),
    Period.LAST_MONTH: timedelta(days=30),
}


class Grouping(StrEnum):
    """The property by which a report groups calls."""

    MODEL = "model"
    PURPOSE = "purpose"
    TASK_TYPE = "task_type"
    COMPLEXITY = "complexity"


def parse_usage_task_key(key: str) -> tuple[str, str, str]:
    """Split a key into purpose, type of task and model; a model may contain slashes."""
    purpose, task_type, model = key.split("/", 2)
    return purpose, task_type, model
