"""Figures: statistics of model calls in a period, with their quality.

Quality is what is known of all time, from evidence: it belongs to turns, and no tally knows it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from opencrab.domain.learning.evidence import ALL, Evidence, worth_key
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.confidence import Estimate, MomentSums, estimate_mean
from opencrab.domain.usage.counters import CounterCell, DailyTally, usage_tally_day
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.domain.value import MicroUsd, Unit, Value

BEGINNING = "2026-01-01"
"""The first day for which tallies can exist."""

SHORT = {Period.LAST_HOUR: timedelta(hours=1), Period.LAST_DAY: timedelta(days=1)}
"""The periods that are counted by hours."""

_MILLION = 1_000_000
_MOST = 0.95
_PIECE = 7

Counts = dict[str, int]
Efficiency = float | Literal["free"] | None
"""Quality per dollar; "free" if the calls cost nothing, None if quality is unknown."""


class Figures(Value):
    """Statistics of some model calls; null is unknown and never counts as a low value.

    `share` is the share of all calls of the period. `p95_latency_ms` is exact to a power of two and
    given for whole days only. `success_rate` is the share of calls that did not fail. `quality`
    covers all time. `cost_efficiency` is mean quality times calls divided by dollars.
    """

    calls: int = 0
    failed: int = 0
    share: Unit = 0.0
    success_rate: Unit | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: MicroUsd = 0
    mean_latency_ms: float | None = None
    p95_latency_ms: int | None = None
    quality: Estimate | None = None
    cost_efficiency: Efficiency = None

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


def analytics_days_of_period(period: Period, now: datetime) -> tuple[str, str]:
    """Return the first and last day (UTC) whose tallies a period needs."""
    since = period.since(now)
    return (BEGINNING if since is None else usage_tally_day(since)), usage_tally_day(now)


def weeks_of_analytics(period: Period, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield the days of a period week by week, so that few tallies are in memory at once."""
    first, last = map(date.fromisoformat, analytics_days_of_period(period, now))
    while first <= last:
        until = min(first + timedelta(days=_PIECE - 1), last)
        yield first.isoformat(), until.isoformat()
        first = until + timedelta(days=1)


def analytics_period_beginning(period: Period, now: datetime) -> datetime | None:
    """Return where a period begins: a full hour or day (UTC), as counts are not finer.

    None if the period has no beginning.
    """
    since = period.since(now)
    if since is None:
        return None
    full = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return full if period in SHORT else full.replace(hour=0)


def analytics_counts_in_period(
    tallies: Iterable[DailyTally], period: Period, now: datetime
) -> dict[CounterCell, Counts]:
    """Sum the counts of a period in each cell."""
    first = analytics_period_beginning(period, now)
    if period not in SHORT or first is None:
        return analytics_counts_of_days(tallies)
    cells: dict[CounterCell, Counts] = {}
    for tally in tallies:
        midnight = datetime.fromisoformat(tally.day).replace(tzinfo=UTC)
        for hour, counts in tally.hours.items():
            if first <= midnight + timedelta(hours=hour) <= now:
                _add(cells.setdefault(tally.cell, {}), counts)
    return cells


def analytics_counts_of_days(tallies: Iterable[DailyTally]) -> dict[CounterCell, Counts]:
    """Sum the counts of all days in each cell."""
    cells: dict[CounterCell, Counts] = {}
    for tally in tallies:
        _add(cells.setdefault(tally.cell, {}), tally.counts)
    return cells


def group_analytics_figures(
    cells: Mapping[CounterCell, Counts], evidence: Evidence, by: Grouping | None
) -> dict[str, Figures]:
    """Compute figures for each group of calls; None groups by "purpose/task_type/model"."""
    counts: dict[str, Counts] = {}
    for cell, more in cells.items():
        _add(counts.setdefault(_group(cell, by), {}), more)
    calls = sum(each.get("calls", 0) for each in counts.values())
    known = _qualities(evidence, by)
    return {key: analytics_of_counts(each, known.get(key), calls) for key, each in counts.items()}


def analytics_totals(cells: Mapping[CounterCell, Counts], evidence: Evidence) -> Figures:
    """Compute the figures of all calls together."""
    counts: Counts = {}
    for more in cells.values():
        _add(counts, more)
    return analytics_of_counts(counts, evidence.worths.get(ALL), counts.get("calls", 0))


def model_qualities_for_analytics(evidence: Evidence) -> dict[str, Estimate]:
    """Estimate each model's quality from evidence, all purposes together."""
    found = {
        name: estimate_mean(sums) for name, sums in _qualities(evidence, Grouping.MODEL).items()
    }
    return {name: known for name, known in sorted(found.items()) if known is not None}


def analytics_of_counts(counts: Counts, quality: MomentSums | None, all_calls: int) -> Figures:
    """Compute figures from counts; a ratio without a denominator is None or 0."""
    calls, cost = counts.get("calls", 0), counts.get("cost", 0)
    failed, timed = min(counts.get("failed", 0), calls), counts.get("timed", 0)
    known = estimate_mean(quality) if quality is not None else None
    return Figures(
        calls=calls,
        failed=failed,
        share=min(calls / all_calls, 1.0) if all_calls else 0.0,
        success_rate=1 - failed / calls if calls else None,
        input_tokens=counts.get("input", 0),
        output_tokens=counts.get("output", 0),
        cost_micro_usd=cost,
        mean_latency_ms=round(counts.get("latency", 0) / timed, 1) if timed else None,
        p95_latency_ms=_quantile(counts, _MOST),
        quality=known,
        cost_efficiency=analytics_quality_per_dollar(known, calls, cost),
    )


def analytics_quality_per_dollar(
    quality: Estimate | None, calls: int, cost: MicroUsd
) -> Efficiency:
    """Compute mean quality times calls divided by dollars.

    "free" if the calls cost nothing, None if quality is unknown or there are no calls.
    """
    if quality is None or not calls:
        return None
    return "free" if cost <= 0 else round(quality.mean * calls * _MILLION / cost, 3)


def analytics_task_key(purpose: Use, task_type: str, model: str) -> str:
    """Return the key of a model in evidence for a purpose and a type of task."""
    return f"{purpose.value}/{task_type}/{model}"


def analytics_model_of_answer_key(key: str) -> str:
    """Return the model of a "task_type/model" key of `Evidence.answers`."""
    return key.partition("/")[2]


def _qualities(evidence: Evidence, by: Grouping | None) -> dict[str, MomentSums]:
    """Return sums of quality by group, in which a turn counts once for each group.

    There are none by complexity, which evidence does not distinguish.
    """
    if by is None:
        return {key: of.value_sums for key, of in evidence.models.items()}
    sums: dict[str, MomentSums] = {}
    if by is Grouping.MODEL:
        for key, of in evidence.answers.items():
            model = analytics_model_of_answer_key(key)
            sums[model] = sums.get(model, MomentSums()) + of.value_sums
        return sums
    start = worth_key(by, "")
    return {
        key.removeprefix(start): of for key, of in evidence.worths.items() if key.startswith(start)
    }


def _group(cell: CounterCell, by: Grouping | None) -> str:
    if by is None:
        return analytics_task_key(cell.purpose, cell.task_type, cell.name)
    return cell.group(by)


def _add(counts: Counts, more: Mapping[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def _quantile(counts: Counts, share: float) -> int | None:
    """Return the least power of two of milliseconds that covers a share of the latencies."""
    bins = {
        int(name[1:]): n for name, n in counts.items() if name[:1] == "l" and name[1:].isdigit()
    }
    left = sum(bins.values()) * share
    for bits, n in sorted(bins.items()):
        left -= n
        if left <= 0:
            return 1 << bits
    return None
