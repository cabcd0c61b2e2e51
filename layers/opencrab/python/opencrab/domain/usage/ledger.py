"""The usage ledger: one row for every call of a model, whatever came of it, and its summaries."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import Field

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.task_type import task_complexity_level
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import MicroUsd, ShortText, Unit, Value


class Judgement(Value):
    """What an agent thinks of one of its own answers; it can be given once."""

    quality_score: Unit
    task_success: bool | None = None
    self_evaluation: ShortText = ""
    would_use_again: bool | None = None
    better_model_suggestion: ShortText | None = None


_TIME = "%Y%m%dT%H%M%S.%fZ"


class UsageRow(Value):
    """One call of a model; `cost` is what the budgets were charged, `reserved` what was set aside.

    `unknown` is the state of a call whose worker died: it is charged in full. The last five fields
    are for whoever judges the answer later; None means that nobody did, and is not a low mark.
    `opens` says that with it its agent begins a session: it is counted when the row is written, and
    not kept in the row.
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
        """The row of a call that has ended: at the time that its result tells, else at that given.

        So its id is known before it is written, whoever writes it. `opens` is whether the agent
        begins a session with it.
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
            fault=result.fault,
            usage=answer.usage if answer else result.usage or Usage(),
            reserved=intent.reserved,
            cost=result.cost,
            price=intent.price,
            latency_ms=None if result.state is CallState.UNKNOWN else result.latency_ms,
            first_token_ms=answer.first_token_ms if answer else None,
            opens=opens,
        )

    def judged(self, judgement: Judgement) -> "UsageRow":
        """The row with what its agent thinks of the answer; raises Conflict for another opinion."""
        changed = self.replaced(**dict(judgement))
        if self.quality_score is not None and changed != self:
            raise Conflict(
                f"answer {self.id!r} was already rated",
                field="metrics_id",
                cure="an answer is rated once; the first rating counts",
            )
        return changed

    def without_evaluation(self) -> "UsageRow":
        """The row without the words in which its agent judged the answer; the marks stay."""
        return self.replaced(self_evaluation=None)

    @property
    def id(self) -> str:
        """The row's metrics id: sorts by time, and is where the row is kept."""
        return ledger_row_id(self.at, self.turn_id, self.n)


def ledger_row_id(at: datetime, turn_id: str, n: int) -> str:
    """The metrics id of a turn's call that ended at a time."""
    return f"{ledger_row_time(at)}-{turn_id}-{n:04d}"


def ledger_row_time(at: datetime) -> str:
    """A time (UTC) as ids of rows begin with it."""
    return at.strftime(_TIME)


_NEXT = "!"
"""Makes a bound above an id and above no later one: no character of an id comes before it."""

_ROW_ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[!-~]{1,128}-[0-9]{4,9}")


def is_ledger_row_id(text: str) -> bool:
    """Whether a text can be the id of a row, there or not."""
    return _ROW_ID.fullmatch(text) is not None


def ledger_row_bounds(
    since: datetime | None, until: datetime | None, after: str | None, *, oldest_first: bool = False
) -> tuple[str, str]:
    """The ids of rows that are asked for: low <= id < high; raises Invalid for a foreign `after`.

    Where rows are read newest first, what comes after one lies before it in time.
    """
    if after is not None and not is_ledger_row_id(after):
        raise Invalid(
            "invalid row ID", field="after", cure="use the ID of the last row that you have"
        )
    low = ledger_row_time(since.astimezone(UTC)) if since else "0"
    high = ledger_row_time(until.astimezone(UTC)) if until else ":"
    if after is None:
        return low, high
    return (max(low, after + _NEXT), high) if oldest_first else (low, min(high, after))


class Period(StrEnum):
    """Period of a report."""

    LAST_HOUR = "last_hour"
    LAST_DAY = "last_day"
    LAST_WEEK = "last_week"
    LAST_MONTH = "last_month"
    ALL = "all"

    def since(self, now: datetime) -> datetime | None:
        """Its beginning; None when it has none. A month is 30 days."""
        length = _LENGTHS.get(self)
        return None if length is None else now - length


_LENGTHS = {
    Period.LAST_HOUR: timedelta(hours=1),
    Period.LAST_DAY: timedelta(days=1),
    Period.LAST_WEEK: timedelta(weeks=1),
    Period.LAST_MONTH: timedelta(days=30),
}


class Grouping(StrEnum):
    """How a report groups calls."""

    MODEL = "model"
    PURPOSE = "purpose"
    TASK_TYPE = "task_type"
    COMPLEXITY = "complexity"

    def key(self, row: UsageRow) -> str:
        """The group that a row belongs to."""
        match self:
            case Grouping.MODEL:
                return f"{row.provider}:{row.model}"
            case Grouping.PURPOSE:
                return row.purpose.value
            case Grouping.TASK_TYPE:
                return row.task_type
            case Grouping.COMPLEXITY:
                return task_complexity_level(row.complexity)


class Summary(Value):
    """Totals of some calls; means are null if unknown."""

    calls: int = 0
    answered: int = 0
    failed: int = 0
    unknown: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_micro_usd: MicroUsd = 0
    mean_latency_ms: float | None = None
    mean_first_token_ms: float | None = None
    mean_quality: float | None = None


def usage_summary(rows: Iterable[UsageRow]) -> Summary:
    """Everything together."""
    listed = tuple(rows)
    states = [row.state for row in listed]
    return Summary(
        calls=len(listed),
        answered=states.count(CallState.COMPLETED),
        failed=states.count(CallState.FAILED),
        unknown=states.count(CallState.UNKNOWN),
        input_tokens=sum(row.usage.input_tokens for row in listed),
        output_tokens=sum(row.usage.output_tokens for row in listed),
        cached_tokens=sum(row.usage.cached_tokens for row in listed),
        reasoning_tokens=sum(row.usage.reasoning_tokens for row in listed),
        cost_micro_usd=sum(row.cost for row in listed),
        mean_latency_ms=_mean(row.latency_ms for row in listed),
        mean_first_token_ms=_mean(row.first_token_ms for row in listed),
        mean_quality=_mean(row.quality_score for row in listed),
    )


def group_usage(rows: Iterable[UsageRow], by: Grouping) -> dict[str, Summary]:
    """A summary for each group, dearest first."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(by.key(row), []).append(row)
    summaries = {key: usage_summary(group) for key, group in groups.items()}
    return dict(sorted(summaries.items(), key=lambda item: (-item[1].cost_micro_usd, item[0])))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 3) if known else None


def parse_task_key(key: str) -> tuple[str, str, str]:
    """Purpose, type of task and model of such a name; models may have slashes of their own."""
    purpose, task_type, model = key.split("/", 2)
    return purpose, task_type, model
