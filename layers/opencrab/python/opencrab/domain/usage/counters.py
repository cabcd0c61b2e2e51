"""Daily tallies: counts of a day's model calls, updated as the calls are made."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from pydantic import Field

from opencrab.domain.identifier import stable_id
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.task_type import turn_complexity_level
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Value

HOURLY = ("calls", "failed", "cost", "input", "output", "latency", "timed")
"""The counts that are also kept for each hour (UTC) of the day."""

KEPT, ACTIVE_KEPT = timedelta(days=400), timedelta(days=40)
"""The times for which a tally is kept after its last call, and an agent's activity on a day."""


class CounterCell(Value):
    """The properties of calls that are counted together; `complexity` is a level in words."""

    provider: str
    model: str
    purpose: Use
    task_type: str
    complexity: str

    @property
    def name(self) -> str:
        """The full name of the model, `provider:model`."""
        return f"{self.provider}:{self.model}"

    @property
    def id(self) -> str:
        """The id of the cell among those of a day."""
        return stable_id(self.provider, self.model, self.purpose, self.task_type, self.complexity)


class DailyTally(Value):
    """An agent's calls of one day (UTC) in one cell.

    `counts` are whole numbers by name: calls, answered, failed, unknown; input, output, cached and
    reasoning tokens; sessions that began with a call; cost in micro-dollars; latency and first in
    milliseconds with timed and first_timed, the numbers of calls that tell them; l0, l1 … count
    latencies and c0, c1 … costs by the number of bits of their milliseconds and micro-dollars.
    `hours` has those of HOURLY again by hour, 0 to 23.
    """

    agent_id: str
    day: str
    cell: CounterCell
    counts: dict[str, int] = Field(default_factory=dict)
    hours: dict[int, dict[str, int]] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, CounterCell]:
        """The key of a tally: agent, day and cell."""
        return self.agent_id, self.day, self.cell

    def __add__(self, other: "DailyTally") -> "DailyTally":
        """Return the sum of both, with the key of the first."""
        hours = {
            hour: sum_call_counts(self.hours.get(hour, {}), other.hours.get(hour, {}))
            for hour in {*self.hours, *other.hours}
        }
        return self.replaced(counts=sum_call_counts(self.counts, other.counts), hours=hours)


def usage_tally_day(at: datetime) -> str:
    """Return the day of a moment in UTC, as budgets count days."""
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def sum_call_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Add counts by name."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in (*first, *second)}


def usage_tally_of_call(row: UsageRow) -> DailyTally:
    """Count one call; no count is negative, whatever a vendor reported."""
    counts = {
        "calls": 1,
        "answered": int(row.state is CallState.COMPLETED),
        "failed": int(row.state is CallState.FAILED),
        "unknown": int(row.state is CallState.UNKNOWN),
        "input": row.usage.input_tokens,
        "output": row.usage.output_tokens,
        "cached": row.usage.cached_tokens,
        "reasoning": row.usage.reasoning_tokens,
        "sessions": int(row.opens),
        "cost": row.cost,
        f"c{max(row.cost, 0).bit_length()}": 1,
    }
    if row.latency_ms is not None:
        counts |= {"latency": row.latency_ms, "timed": 1}
        counts |= {f"l{max(row.latency_ms, 0).bit_length()}": 1}
    if row.first_token_ms is not None:
        counts |= {"first": row.first_token_ms, "first_timed": 1}
    counts = {name: count for name, count in counts.items() if count > 0}
    hourly = {name: counts[name] for name in HOURLY if name in counts}
    return DailyTally(
        agent_id=row.agent_id,
        day=usage_tally_day(row.at),
        cell=CounterCell(
            provider=row.provider,
            model=row.model,
            purpose=row.purpose,
            task_type=row.task_type,
            complexity=turn_complexity_level(row.complexity),
        ),
        counts=counts,
        hours={row.at.astimezone(UTC).hour: hourly},
    )


def usage_tally_correction(before: UsageRow, after: UsageRow, now: datetime) -> DailyTally | None:
    """Return what to add to the day of a call that was settled; None if it is kept no longer."""
    if now - before.at >= KEPT:
        return None
    counted, corrected = usage_tally_of_call(before), usage_tally_of_call(after)
    hours = {
        hour: _count_differences(counts, counted.hours.get(hour, {}))
        for hour, counts in corrected.hours.items()
    }
    return corrected.replaced(
        counts=_count_differences(corrected.counts, counted.counts), hours=hours
    )


def _count_differences(new: Mapping[str, int], old: Mapping[str, int]) -> dict[str, int]:
    differences = {name: new.get(name, 0) - old.get(name, 0) for name in (*new, *old)}
    return {name: difference for name, difference in differences.items() if difference}


def merge_usage_tallies(tallies: Iterable[DailyTally]) -> tuple[DailyTally, ...]:
    """Merge tallies to one for each key, in the order in which they come."""
    together: dict[tuple[str, str, CounterCell], DailyTally] = {}
    for tally in tallies:
        before = together.get(tally.key)
        together[tally.key] = tally if before is None else before + tally
    return tuple(together.values())
