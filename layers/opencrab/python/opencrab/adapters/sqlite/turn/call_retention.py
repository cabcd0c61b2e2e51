"""Retention of single calls in SQLite: old ledger rows go, and their daily tallies stay."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.turn.usage import SqliteTallies, SqliteUsage
from opencrab.domain.usage.ledger import ledger_row_time
from opencrab.ports.paging import paginate

_STEPS = 20
_PAGE = 500
_PREFIX, _AFTER_PREFIX = "USAGE#", "USAGE$"
_NEXT_PARTITION = "SELECT min(pk) FROM item WHERE pk>? AND pk<?"
_OLDEST = "SELECT sk FROM item WHERE pk=? AND sk<? ORDER BY sk LIMIT ?"
_DELETE = "DELETE FROM item WHERE pk=? AND sk>=? AND sk<=?"
_WITHOUT_HOURS = "UPDATE item SET body=json_remove(body, '$.hours') WHERE pk=? AND sk>=? AND sk<?"


class SqliteCallRetention:
    """Deletes ledger rows, at most `at_once` in each transaction."""

    def __init__(self, database: Database, *, at_once: int = 1_000) -> None:
        self._database, self._at_once = database, at_once
        self._usage, self._tallies = SqliteUsage(database), SqliteTallies(database)

    def purge(self, before: datetime) -> int:
        """Delete the rows of days (UTC) that ended before a time; return how many.

        One call makes at most 20 transactions. What an earlier release counted is counted anew
        first, so that no total changes.
        """
        begins = before.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        deleted, steps, partition = 0, _STEPS, _PREFIX
        while steps and (partition := self._next(partition)):
            while steps and (rows := self._counted_rows(partition, ledger_row_time(begins))):
                self._delete(partition, rows)
                deleted, steps = deleted + len(rows), steps - 1
        return deleted

    def _next(self, partition: str) -> str:
        with self._database.read_transaction() as items:
            found = items.execute(_NEXT_PARTITION, (partition, _AFTER_PREFIX)).fetchone()[0]
        return found or ""

    def _counted_rows(self, partition: str, before: str) -> list[str]:
        """Return the ids of an agent's oldest rows, as far as the tallies count their days."""
        with self._database.read_transaction() as items:
            found = [sk for (sk,) in items.execute(_OLDEST, (partition, before, self._at_once))]
        agent_id = partition.removeprefix(_PREFIX)
        counted = {day: self._is_counted(agent_id, day) for day in dict.fromkeys(map(_day, found))}
        return list(takewhile(lambda row_id: counted[_day(row_id)], found))

    def _is_counted(self, agent_id: str, day: str) -> bool:
        """Return whether the tallies of a day count all of its calls, if necessary anew."""
        if not self._is_full(agent_id, day):
            begins = datetime.fromisoformat(day).replace(tzinfo=UTC)
            ends = begins + timedelta(days=1)
            read = self._usage.rows
            rows = paginate(read, agent_id, limit=_PAGE, since=begins, until=ends)
            self._tallies.recount(agent_id, day, rows)
        return self._is_full(agent_id, day)

    def _is_full(self, agent_id: str, day: str) -> bool:
        tallies = self._tallies.totals(agent_id, day, day)
        return bool(tallies) and all(tally.is_full for tally in tallies)

    def _delete(self, partition: str, rows: list[str]) -> None:
        """Delete rows, and the hours of their days, which are for reports of the last days."""
        tallies = f"TALLY#{partition.removeprefix(_PREFIX)}"
        first, last = _day(rows[0]), _day(rows[-1])
        with self._database.write_transaction() as items:
            items.execute(_DELETE, (partition, rows[0], rows[-1]))
            items.execute(_WITHOUT_HOURS, (tallies, f"{first}#", f"{last}$"))


def _day(row_id: str) -> str:
    return f"{row_id[:4]}-{row_id[4:6]}-{row_id[6:8]}"
