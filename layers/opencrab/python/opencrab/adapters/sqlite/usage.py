"""The usage ledger on SQLite: a row for each call of a model, and what days add up to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from opencrab.adapters.sqlite.database import Database, ItemRow, Place, WriteBatch
from opencrab.domain.errors import NotFound
from opencrab.domain.usage.counters import ACTIVE_KEPT, KEPT, DailyTally, tally_of_call
from opencrab.domain.usage.ledger import Judgement, UsageRow, is_ledger_row_id, ledger_row_bounds


class SqliteUsage:
    """`ports.usage.ledger.UsageLedger` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(
        self,
        agent_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str | None = None,
        limit: int = 100,
        oldest_first: bool = False,
    ) -> tuple[UsageRow, ...]:
        low, high = ledger_row_bounds(since, until, after, oldest_first=oldest_first)
        with self._database.reading() as items:
            found = items.between(
                _partition(agent_id),
                low,
                high,
                limit=max(limit, 0),
                newest_first=not oldest_first,
            )
        return tuple(UsageRow.model_validate_json(body) for _, body in found)

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        with self._database.reading() as items:
            body = items.get(_partition(agent_id), row_id) if is_ledger_row_id(row_id) else None
        if body is None:
            raise NotFound(f"agent {agent_id!r} has no usage row {row_id!r}")
        return UsageRow.model_validate_json(body)

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        return self._changed(agent_id, row_id, lambda row: row.judged(judgement))

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        self._changed(agent_id, row_id, UsageRow.without_evaluation)

    def _changed(
        self, agent_id: str, row_id: str, change: Callable[[UsageRow], UsageRow]
    ) -> UsageRow:
        with self._database.writing() as items:
            body = items.get(_partition(agent_id), row_id) if is_ledger_row_id(row_id) else None
            if body is None:
                raise NotFound(f"agent {agent_id!r} has no usage row {row_id!r}")
            changed = change(UsageRow.model_validate_json(body))
            items.put(_partition(agent_id), row_id, changed.model_dump_json())
            return changed


def stored_usage_row(row: UsageRow) -> ItemRow:
    """A row as it is kept."""
    return ItemRow(_partition(row.agent_id), row.id, row.model_dump_json())


def _partition(agent_id: str) -> str:
    return f"USAGE#{agent_id}"


@dataclass(frozen=True)
class CallCount:
    """What one call counts, where, and when it was made."""

    place: Place
    tally: DailyTally
    at: datetime


class SqliteTallies:
    """`ports.usage.counters.Tallies` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        with self._database.reading() as items:
            rows = items.between(_tally_partition(agent_id), f"{first}#", f"{last}$")
        return tuple(DailyTally.model_validate_json(body) for _, body in rows)

    def active(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        with self._database.reading() as items:
            # No id has a character as low as this one.
            rows = items.between(f"ACTIVE#{day}", f"{after}!" if after else "!", "~", limit=limit)
        return tuple(agent_id for agent_id, _ in rows)


def call_counts(rows: Iterable[UsageRow]) -> list[CallCount]:
    """What calls count, each for itself."""
    found = []
    for row in rows:
        tally = tally_of_call(row)
        place = _tally_partition(tally.agent_id), f"{tally.day}#{tally.cell.id}"
        found.append(CallCount(place, tally, row.at))
    return found


def add_usage_counts(
    batch: WriteBatch, counts: Iterable[CallCount], stored: Mapping[Place, str]
) -> None:
    """Add what was counted to what is written, in the transaction that writes the usage itself."""
    # Calls of one change often share a cell, and what is stored was read before any was added.
    totals: dict[Place, DailyTally] = {}
    for one in counts:
        if one.place in totals:
            total = totals[one.place] + one.tally
        elif one.place in stored:
            total = DailyTally.model_validate_json(stored[one.place]) + one.tally
        else:
            total = one.tally
        totals[one.place] = total
        body = total.model_dump_json()
        batch.put += (
            ItemRow(*one.place, body, expires_at=one.at + KEPT),
            ItemRow(f"ACTIVE#{total.day}", total.agent_id, "1", expires_at=one.at + ACTIVE_KEPT),
        )


def _tally_partition(agent_id: str) -> str:
    return f"TALLY#{agent_id}"
