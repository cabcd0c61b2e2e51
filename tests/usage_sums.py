"""Sums of ledger rows, made without tallies: what summaries must say."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.task_type import complexity_level_of_turn
from opencrab.domain.usage.call_summary import CallSummary
from opencrab.domain.usage.ledger import Grouping, UsageRow

KEYS: dict[Grouping, Callable[[UsageRow], str]] = {
    Grouping.MODEL: lambda row: f"{row.provider}:{row.model}",
    Grouping.PURPOSE: lambda row: row.purpose.value,
    Grouping.TASK_TYPE: lambda row: row.task_type,
    Grouping.COMPLEXITY: lambda row: complexity_level_of_turn(row.complexity),
}


def sum_of_rows(rows: Sequence[UsageRow]) -> CallSummary:
    states = [row.state for row in rows]
    return CallSummary(
        calls=len(rows),
        answered=states.count(CallState.COMPLETED),
        failed=states.count(CallState.FAILED),
        unknown=states.count(CallState.UNKNOWN),
        input_tokens=sum(max(row.usage.input_tokens, 0) for row in rows),
        output_tokens=sum(max(row.usage.output_tokens, 0) for row in rows),
        cached_tokens=sum(max(row.usage.cached_tokens, 0) for row in rows),
        reasoning_tokens=sum(max(row.usage.reasoning_tokens, 0) for row in rows),
        cost_micro_usd=sum(row.cost for row in rows),
        unconfirmed_micro_usd=sum(row.unconfirmed_micro_usd for row in rows),
        mean_latency_ms=mean_of(row.latency_ms for row in rows),
        mean_first_token_ms=mean_of(row.first_token_ms for row in rows),
        mean_quality=mean_of(row.quality_score for row in rows),
    )


def groups_of_rows(rows: Sequence[UsageRow], by: Grouping) -> dict[str, CallSummary]:
    keys = {KEYS[by](row) for row in rows}
    return {key: sum_of_rows([row for row in rows if KEYS[by](row) == key]) for key in keys}


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of decimal numbers, added up exactly: floats would round a half either way."""
    known = [Decimal(str(value)) for value in values if value is not None]
    return round(float(sum(known)) / len(known), 3) if known else None
