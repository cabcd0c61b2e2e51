"""The usage ledger on SQLite: a row for each call of a model, and what days add up to."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.adapters.sqlite.board import add_sqlite_budget_draws, sqlite_budget_keys
from opencrab.adapters.sqlite.database import Database, ItemRow, SqliteItems, WriteBatch
from opencrab.adapters.sqlite.documents import add_documents_to_sqlite_batch, sqlite_document_places
from opencrab.adapters.sqlite.turn.rows import (
    TALLY,
    USAGE,
    add_sqlite_usage_counts,
    sqlite_call_count,
    sqlite_usage_row,
)
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.usage.counters import (
    DailyTally,
    recount_usage_tallies,
    usage_tally_correction,
)
from opencrab.domain.usage.ledger import (
    Judgement,
    Settlement,
    UsageRow,
    is_usage_row_id,
    usage_row_id_bounds,
)

_TOTALS = "SELECT json_remove(body, '$.hours') FROM item WHERE pk=? AND sk>=? AND sk<? ORDER BY sk"


class SqliteUsage:
    """`ports.usage.ledger.UsageLedger` on one SQLite file."""

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
        low, high = usage_row_id_bounds(since, until, after, oldest_first=oldest_first)
        with self._database.read_transaction() as items:
            found = items.between(
                _partition(agent_id),
                low,
                high,
                limit=max(limit, 0),
                newest_first=not oldest_first,
            )
        return tuple(UsageRow.from_stored(body) for _, body in found)

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        with self._database.read_transaction() as items:
            return _row_in(items, agent_id, row_id)

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        with self._database.write_transaction() as items:
            row = _row_in(items, agent_id, row_id)
            judged = row.with_judgement(judgement)
            if judged != row:
                count = sqlite_call_count(usage_tally_correction(row, judged), row.at)
                batch = WriteBatch(put=[sqlite_usage_row(judged)])
                add_sqlite_usage_counts(batch, (count,), items.get_many([count.place]))
                items.write(batch)
            return judged

    def settle(
        self,
        agent_id: str,
        row_id: str,
        settlement: Settlement,
        *,
        draws: tuple[BudgetDraw, ...] = (),
        facts: tuple[Document, ...] = (),
    ) -> UsageRow:
        batch = WriteBatch()
        with self._database.write_transaction() as items:
            row = _row_in(items, agent_id, row_id)
            settled = row.with_settlement(settlement)
            if settled == row:
                return row
            counts = [sqlite_call_count(usage_tally_correction(row, settled), row.at)]
            places = [*sqlite_budget_keys(draws), *sqlite_document_places(facts)]
            stored = items.get_many([*places, *(one.place for one in counts)])
            batch.put.append(sqlite_usage_row(settled))
            add_sqlite_budget_draws(batch, draws, stored)
            add_documents_to_sqlite_batch(batch, facts, stored)
            add_sqlite_usage_counts(batch, counts, stored)
            items.write(batch)
            return settled

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        with self._database.write_transaction() as items:
            redacted = _row_in(items, agent_id, row_id).without_evaluation()
            items.put(_partition(agent_id), row_id, redacted.without_unknown_fields().to_stored())


def _row_in(items: SqliteItems, agent_id: str, row_id: str) -> UsageRow:
    body = items.get(_partition(agent_id), row_id) if is_usage_row_id(row_id) else None
    if body is None:
        raise NotFound(
            f"agent {agent_id!r} has no usage row {row_id!r}",
            cure="use the id of another row, or omit it",
        )
    return UsageRow.from_stored(body)


def _partition(agent_id: str) -> str:
    return f"{USAGE}{agent_id}"


class SqliteTallies:
    """`ports.usage.counters.Tallies` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        with self._database.read_transaction() as items:
            rows = items.between(_tally_partition(agent_id), f"{first}#", f"{last}$")
        return tuple(DailyTally.from_stored(body) for _, body in rows)

    def totals(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        with self._database.read_transaction() as items:
            rows = items.execute(_TOTALS, (_tally_partition(agent_id), f"{first}#", f"{last}$"))
            return tuple(DailyTally.from_stored(body) for (body,) in rows)

    def recount(self, agent_id: str, day: str, rows: Iterable[UsageRow]) -> tuple[DailyTally, ...]:
        partition, span = _tally_partition(agent_id), (f"{day}#", f"{day}$")
        with self._database.read_transaction() as items:
            stored = items.between(partition, *span)
        tallies = {sk: DailyTally.from_stored(body) for sk, body in stored}
        for correction in recount_usage_tallies(tallies.values(), rows):
            sk = f"{day}#{correction.cell.id}"
            before = tallies.get(sk)
            tallies[sk] = correction if before is None else before + correction
        with self._database.write_transaction() as items:
            if items.between(partition, *span) == stored:
                items.write(
                    WriteBatch(
                        put=[
                            ItemRow(partition, sk, tally.to_stored())
                            for sk, tally in tallies.items()
                        ]
                    )
                )
        return tuple(tally.replaced(hours={}) for tally in tallies.values())

    def active_agents(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        with self._database.read_transaction() as items:
            # No id has a character as low as this one.
            rows = items.between(f"ACTIVE#{day}", f"{after}!" if after else "!", "~", limit=limit)
        return tuple(agent_id for agent_id, _ in rows)


def _tally_partition(agent_id: str) -> str:
    return f"{TALLY}{agent_id}"
