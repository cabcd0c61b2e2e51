"""Daily tallies: counts of a day's model calls, updated as the calls are made."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from pydantic import Field

from opencrab.domain.identifier import stable_id
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.task_type import complexity_level_of_turn
from opencrab.domain.usage.ledger import Grouping, UsageRow
from opencrab.domain.value import Value

HOURLY = ("calls", "failed", "cost", "input", "output", "latency", "timed")
"""The counts that are also kept for each hour (UTC) of the day."""

ACTIVE_KEPT = timedelta(days=40)
"""The time for which an agent's activity on a day is kept. Tallies are kept for ever."""

QUALITY_PARTS = 1_000_000
"""Ratings are summed in millionths, so that sums are exact in any order."""

_NOT_IN_ROWS = {"sessions"}
"""Counts that ledger rows do not tell."""


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

    def group(self, by: Grouping) -> str:
        """Return the group of the cell's calls."""
        return {
            Grouping.MODEL: self.name,
            Grouping.PURPOSE: self.purpose.value,
            Grouping.TASK_TYPE: self.task_type,
            Grouping.COMPLEXITY: self.complexity,
        }[by]


class DailyTally(Value):
    """An agent's calls of one day (UTC) in one cell.

    `counts` are whole numbers by name: calls, answered, failed, unknown; input, output, cached and
    reasoning tokens; sessions that began with a call; cost in micro-dollars; latency and first in
    milliseconds with timed and first_timed, the numbers of calls that tell them; l0, l1 … count
    latencies and c0, c1 … costs by the number of bits of their milliseconds and micro-dollars;
    unconfirmed micro-dollars; rated, the number of calls with a rating, and their quality in
    millionths. Early releases did not count the last three: `full` is the number of calls for
    which they are. `hours` has those of HOURLY again by hour, 0 to 23.
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

    @property
    def is_full(self) -> bool:
        """True if all counts of all calls are known."""
        calls = self.counts.get("calls", 0)
        return calls > 0 and self.counts.get("full", 0) == calls

    def __add__(self, other: "DailyTally") -> "DailyTally":
        """Return the sum of both, with the key of the first."""
        hours = {
            hour: sum_usage_counts(self.hours.get(hour, {}), other.hours.get(hour, {}))
            for hour in {*self.hours, *other.hours}
        }
        return self.replaced(counts=sum_usage_counts(self.counts, other.counts), hours=hours)


def usage_tally_day(at: datetime) -> str:
    """Return the day of a moment in UTC, as budgets count days."""
    return at.astimezone(UTC).strftime("%Y-%m-%d")


def sum_usage_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Add counts by name."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in (*first, *second)}


def usage_counts_of_call(row: UsageRow) -> dict[str, int]:
    """Count one call; no count is negative, whatever a vendor reported."""
    counts = {
        "calls": 1,
        "full": 1,
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
    if row.state is not CallState.COMPLETED:
        counts |= {"unconfirmed": row.unconfirmed_micro_usd}
    if row.latency_ms is not None:
        counts |= {"latency": row.latency_ms, "timed": 1}
        counts |= {f"l{max(row.latency_ms, 0).bit_length()}": 1}
    if row.first_token_ms is not None:
        counts |= {"first": row.first_token_ms, "first_timed": 1}
    if row.quality_score is not None:
        counts |= {"rated": 1, "quality": round(row.quality_score * QUALITY_PARTS)}
    return {name: count for name, count in counts.items() if count > 0}


def usage_tally_cell_of_call(row: UsageRow) -> CounterCell:
    """Return the cell in which a call is counted."""
    return CounterCell(
        provider=row.provider,
        model=row.model,
        purpose=row.purpose,
        task_type=row.task_type,
        complexity=complexity_level_of_turn(row.complexity),
    )


def usage_tally_of_call(row: UsageRow) -> DailyTally:
    """Return the tally of a day with one call."""
    counts = usage_counts_of_call(row)
    hourly = {name: counts[name] for name in HOURLY if name in counts}
    return DailyTally(
        agent_id=row.agent_id,
        day=usage_tally_day(row.at),
        cell=usage_tally_cell_of_call(row),
        counts=counts,
        hours={row.at.astimezone(UTC).hour: hourly},
    )


def usage_tally_correction(before: UsageRow, after: UsageRow) -> DailyTally:
    """Return what to add to the day of a call that was settled or rated."""
    return _tally_difference(usage_tally_of_call(after), usage_tally_of_call(before))


def recount_usage_tallies(
    stored: Iterable[DailyTally], rows: Iterable[UsageRow]
) -> Iterator[DailyTally]:
    """Yield what to add to a day's tallies so that they count all of the day's ledger rows.

    A cell of which the ledger lacks rows keeps its counts, which are then all that is known.
    """
    known = {tally.key: tally for tally in merge_usage_tallies(stored)}
    counted = {tally.key: tally for tally in _tallies_of_calls(rows)}
    for key in {**known, **counted}:
        before, after = known.get(key), counted.get(key)
        if before is None:
            if after is not None:
                yield after
            continue
        calls = before.counts.get("calls", 0)
        if after is None or after.counts["calls"] < calls:
            missing = calls - before.counts.get("full", 0)
            correction = before.replaced(counts={"full": missing} if missing else {}, hours={})
        else:
            correction = _tally_difference(after, before)
        if correction.counts:
            yield correction


def _tallies_of_calls(rows: Iterable[UsageRow]) -> Iterator[DailyTally]:
    """Yield the tallies of calls; quicker than to merge one for each call."""
    counts: dict[tuple[str, str, CounterCell], dict[str, int]] = {}
    hours: dict[tuple[str, str, CounterCell], dict[int, dict[str, int]]] = {}
    for row in rows:
        key = row.agent_id, usage_tally_day(row.at), usage_tally_cell_of_call(row)
        one, hour = usage_counts_of_call(row), row.at.astimezone(UTC).hour
        _add_counts(counts.setdefault(key, {}), one)
        hourly = {name: one[name] for name in HOURLY if name in one}
        _add_counts(hours.setdefault(key, {}).setdefault(hour, {}), hourly)
    for key, of in counts.items():
        agent_id, day, cell = key
        yield DailyTally(agent_id=agent_id, day=day, cell=cell, counts=of, hours=hours[key])


def _add_counts(known: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        known[name] = known.get(name, 0) + count


def _tally_difference(new: DailyTally, old: DailyTally) -> DailyTally:
    hours = {
        hour: _count_differences(new.hours.get(hour, {}), old.hours.get(hour, {}))
        for hour in (*new.hours, *old.hours)
    }
    counts = _count_differences(new.counts, old.counts)
    return new.replaced(
        counts={name: count for name, count in counts.items() if name not in _NOT_IN_ROWS},
        hours=hours,
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
