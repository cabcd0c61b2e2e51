"""Utterances that wait to be delivered, and items that come due, on SQLite."""

from datetime import datetime, timedelta

from opencrab.adapters.sqlite.database import Database, ItemRow, WriteBatch
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.due_item import DueItem

RETENTION = timedelta(days=35)


class SqliteOutbox:
    """`ports.conversation.outbox.Outbox` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, target: str, key: str) -> Utterance:
        with self._database.read_transaction() as items:
            body = items.get(f"OUT#{target}", key)
        if body is None:
            raise NotFound(f"there is no utterance {key!r} for {target!r}")
        return Utterance.from_stored(body)

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        pk = f"OUT#{utterance.channel.target}"
        ended = utterance.state.is_end
        with self._database.write_transaction() as items:
            body = items.get(pk, utterance.key)
            # Of two workers with the same utterance only one finds it in this state, and sends it.
            if body is None or Utterance.from_stored(body).state is not expected:
                return False
            items.put(
                pk,
                utterance.key,
                utterance.to_stored(),
                due=None if ended else ("outbox", utterance.updated_at),
                expires_at=utterance.updated_at + RETENTION if ended else None,
            )
            return True

    def list_unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_due("outbox", before, limit)
        return tuple(Utterance.from_stored(body) for body in bodies)


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
