"""The usage ledger on SQLite: a row for each call of a model, by agent."""

from collections.abc import Callable
from datetime import datetime

from opencrab.adapters.sqlite.database import Database, Row
from opencrab.domain.errors import NotFound
from opencrab.domain.usage.ledger import Judgement, UsageRow, is_row_id, row_bounds


class SqliteUsage:
    """`ports.usage.UsageLedger` on one file."""

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
        low, high = row_bounds(since, until, after, oldest_first=oldest_first)
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
            body = items.get(_partition(agent_id), row_id) if is_row_id(row_id) else None
        if body is None:
            raise NotFound(f"agent {agent_id!r} has no usage row {row_id!r}")
        return UsageRow.model_validate_json(body)

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        return self._changed(agent_id, row_id, lambda row: row.judged(judgement))

    def unsay(self, agent_id: str, row_id: str) -> None:
        self._changed(agent_id, row_id, UsageRow.unsaid)

    def _changed(
        self, agent_id: str, row_id: str, change: Callable[[UsageRow], UsageRow]
    ) -> UsageRow:
        with self._database.writing() as items:
            body = items.get(_partition(agent_id), row_id) if is_row_id(row_id) else None
            if body is None:
                raise NotFound(f"agent {agent_id!r} has no usage row {row_id!r}")
            changed = change(UsageRow.model_validate_json(body))
            items.put(_partition(agent_id), row_id, changed.model_dump_json())
            return changed


def stored_row(row: UsageRow) -> Row:
    """A row as it is kept."""
    return Row(_partition(row.agent_id), row.id, row.model_dump_json())


def _partition(agent_id: str) -> str:
    return f"USAGE#{agent_id}"
