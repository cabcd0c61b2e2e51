"""Items that come due, such as a schedule's next message, on SQLite."""

from datetime import datetime

from opencrab.adapters.sqlite.database import Database, ItemRow, WriteBatch
from opencrab.domain.turn.due_item import DueItem


class SqliteDueItems:
    """`ports.turn.due_items.DueItems` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, item: DueItem) -> None:
        with self._database.write_transaction() as items:
            items.write(WriteBatch(put=[sqlite_row_of_due_item(item)]))

    def list_due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_due("due", now, limit)
        return tuple(DueItem.from_stored(body) for body in bodies)

    def get(self, item_id: str) -> DueItem | None:
        with self._database.read_transaction() as items:
            body = items.get("DUE", item_id)
        return None if body is None else DueItem.model_validate_json(body)

    def remove(self, item_id: str) -> None:
        with self._database.write_transaction() as items:
            items.delete("DUE", item_id)


def sqlite_row_of_due_item(item: DueItem) -> ItemRow:
    """Serialize a due item to an item row, keyed by its id."""
    return ItemRow("DUE", item.id, item.to_stored(), due=("due", item.at))
