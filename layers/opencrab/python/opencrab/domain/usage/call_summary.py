"""Summaries of model calls: totals and means, from the counts of daily tallies."""

from collections.abc import Mapping

from opencrab.domain.usage.counters import QUALITY_PARTS, CounterCell, sum_usage_counts
from opencrab.domain.usage.ledger import Grouping
from opencrab.domain.value import MicroUsd, Value

CellCounts = Mapping[CounterCell, Mapping[str, int]]
"""The counts of calls by cell."""


class CallSummary(Value):
    """Totals of some calls; means are null if unknown.

    `unconfirmed_micro_usd` is the part of the cost that is held for calls that were perhaps billed.
    """

    calls: int = 0
    answered: int = 0
    failed: int = 0
    unknown: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_micro_usd: MicroUsd = 0
    unconfirmed_micro_usd: MicroUsd = 0
    mean_latency_ms: float | None = None
    mean_first_token_ms: float | None = None
    mean_quality: float | None = None


def summarize_usage(cells: CellCounts) -> CallSummary:
    """Sum up all calls."""
    counts: dict[str, int] = {}
    for each in cells.values():
        counts = sum_usage_counts(counts, each)
    return _summary(counts)


def group_usage(cells: CellCounts, by: Grouping) -> dict[str, CallSummary]:
    """Sum up each group, the most expensive first."""
    groups: dict[str, dict[str, int]] = {}
    for cell, counts in cells.items():
        key = cell.group(by)
        groups[key] = sum_usage_counts(groups.get(key, {}), counts)
    summaries = {key: _summary(counts) for key, counts in groups.items() if counts.get("calls")}
    return dict(sorted(summaries.items(), key=lambda item: (-item[1].cost_micro_usd, item[0])))


def _summary(counts: Mapping[str, int]) -> CallSummary:
    def count(name: str) -> int:
        return counts.get(name, 0)

    return CallSummary(
        calls=count("calls"),
        answered=count("answered"),
        failed=count("failed"),
        unknown=count("unknown"),
        input_tokens=count("input"),
        output_tokens=count("output"),
        cached_tokens=count("cached"),
        reasoning_tokens=count("reasoning"),
        cost_micro_usd=count("cost"),
        unconfirmed_micro_usd=max(count("unconfirmed"), 0),
        mean_latency_ms=_mean(count("latency"), count("timed")),
        mean_first_token_ms=_mean(count("first"), count("first_timed")),
        mean_quality=_mean(count("quality") / QUALITY_PARTS, count("rated")),
    )


def _mean(total: float, number: int) -> float | None:
    return round(total / number, 3) if number > 0 else None
