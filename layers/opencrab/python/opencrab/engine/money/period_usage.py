"""What an agent's calls of a period come to, from daily tallies instead of single calls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from opencrab.domain.usage.counters import (
    CounterCell,
    DailyTally,
    usage_counts_of_call,
    usage_tally_cell_of_call,
    usage_tally_day,
)
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import paginate

RECOUNTED_ROWS = 10_000
"""Calls of earlier releases that one report counts anew; it ends the day that it began."""

_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"
"""The bounds of all days; a machine whose clock is ahead may have counted calls of tomorrow."""

_PAGE = 500
_DAY = timedelta(days=1)

Days = dict[str, tuple[DailyTally, ...]]


@dataclass
class UsageOfPeriod:
    """The counts of an agent's calls by cell, and the first day (UTC) with calls.

    `complete` is false while calls that earlier releases counted are still to be counted anew.
    """

    cells: dict[CounterCell, dict[str, int]] = field(default_factory=dict)
    complete: bool = True
    first_day: str | None = None

    def add(self, cell: CounterCell, counts: Mapping[str, int], sign: int = 1) -> None:
        """Add counts to a cell, or subtract them."""
        known = self.cells.setdefault(cell, {})
        for name, count in counts.items():
            known[name] = known.get(name, 0) + sign * count


def money_spent_in_period(
    runtime: Runtime, agent_id: str, since: datetime | None, *, most: int | None = None
) -> UsageOfPeriod:
    """Return what an agent's calls since a time come to, exactly as their ledger rows would.

    Rows are read only of the day in which the period begins.
    """
    days, complete = _full_days(runtime, agent_id, since, most or RECOUNTED_ROWS)
    found = UsageOfPeriod(complete=complete, first_day=min(days, default=None))
    first = "" if since is None else usage_tally_day(since)
    for day, tallies in days.items():
        if day != first:
            for tally in tallies:
                found.add(tally.cell, tally.counts)
    if since is not None:
        _add_first_day(runtime, agent_id, since.astimezone(UTC), days.get(first, ()), found)
    return found


def days_with_money_held(
    runtime: Runtime, agent_id: str, since: datetime | None
) -> tuple[tuple[str, ...], bool]:
    """Return the days (UTC) with calls that were perhaps billed, newest first, and if all."""
    days, complete = _full_days(runtime, agent_id, since, RECOUNTED_ROWS)
    held = {day for day, tallies in days.items() if _total(tallies, "unconfirmed") > 0}
    return tuple(sorted(held, reverse=True)), complete


def money_held_for_calls_of_day(runtime: Runtime, agent_id: str, day: str) -> int:
    """Return what is held for an agent's calls of a day (UTC) that were perhaps billed."""
    tallies = runtime.home.tallies.totals(agent_id, day, day)
    if not _is_full(tallies):
        tallies = _recount(runtime, agent_id, day)
    return max(_total(tallies, "unconfirmed"), 0)


def money_spent_by_calls_of_day(
    runtime: Runtime, agent_id: str, day: str, *, since: datetime | None = None
) -> Iterator[UsageRow]:
    """Yield an agent's calls of a day (UTC), or those of it since a time, newest first."""
    begins = _midnight(day)
    return _rows(runtime, agent_id, max(begins, since or begins), begins + _DAY)


def _full_days(
    runtime: Runtime, agent_id: str, since: datetime | None, most: int
) -> tuple[Days, bool]:
    """Return the tallies of each day, counting anew what earlier releases did not count.

    That stops after `most` calls, and false says so; the next report continues.
    """
    first = _FIRST_DAY if since is None else usage_tally_day(since)
    found: Days = {}
    for tally in runtime.home.tallies.totals(agent_id, first, _LAST_DAY):
        found[tally.day] = (*found.get(tally.day, ()), tally)
    # A day without calls was not counted: it only has corrections of settled or rated calls.
    days = {day: tallies for day, tallies in found.items() if _total(tallies, "calls") > 0}
    left = most
    for day in [day for day in sorted(days, reverse=True) if not _is_full(days[day])]:
        if left <= 0:
            return days, False
        days[day] = _recount(runtime, agent_id, day)
        left -= max(_total(days[day], "calls"), 1)
    while earlier := _day_before_tallies(runtime, agent_id, since, min(days, default=None)):
        if left <= 0:
            return days, False
        days[earlier] = _recount(runtime, agent_id, earlier)
        left -= max(_total(days[earlier], "calls"), 1)
    return days, True


def _day_before_tallies(
    runtime: Runtime, agent_id: str, since: datetime | None, oldest: str | None
) -> str | None:
    """Return the newest day with calls before the oldest tally; None if there is none."""
    until = None if oldest is None else _midnight(oldest)
    rows = runtime.home.usage.rows(agent_id, since=since, until=until, limit=1)
    return usage_tally_day(rows[0].at) if rows else None


def _recount(runtime: Runtime, agent_id: str, day: str) -> tuple[DailyTally, ...]:
    return runtime.home.tallies.recount(
        agent_id, day, money_spent_by_calls_of_day(runtime, agent_id, day)
    )


def _add_first_day(
    runtime: Runtime,
    agent_id: str,
    since: datetime,
    tallies: tuple[DailyTally, ...],
    found: UsageOfPeriod,
) -> None:
    """Add the calls of a day after a time: by their rows, or all but the rows before it."""
    begins = since.replace(hour=0, minute=0, second=0, microsecond=0)
    before = 0
    if _is_full(tallies):
        hours = [
            hour
            for tally in runtime.home.tallies.between(agent_id, tallies[0].day, tallies[0].day)
            for hour in tally.hours.items()
        ]
        before = sum(counts.get("calls", 0) for hour, counts in hours if hour < since.hour)
    if _is_full(tallies) and 2 * before <= _total(tallies, "calls"):
        for tally in tallies:
            found.add(tally.cell, tally.counts)
        for row in _rows(runtime, agent_id, begins, since):
            found.add(usage_tally_cell_of_call(row), usage_counts_of_call(row), -1)
    else:
        for row in _rows(runtime, agent_id, since, begins + _DAY):
            found.add(usage_tally_cell_of_call(row), usage_counts_of_call(row))


def _rows(runtime: Runtime, agent_id: str, since: datetime, until: datetime) -> Iterator[UsageRow]:
    read = runtime.home.usage.rows
    return paginate(read, agent_id, limit=_PAGE, since=since, until=until)


def _is_full(tallies: tuple[DailyTally, ...]) -> bool:
    return bool(tallies) and all(tally.is_full for tally in tallies)


def _total(tallies: tuple[DailyTally, ...], name: str) -> int:
    return sum(tally.counts.get(name, 0) for tally in tallies)


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)
