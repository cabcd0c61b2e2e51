"""Outbox and due items on SQLite."""

from datetime import datetime, timedelta

from opencrab.adapters.sqlite.database import Batch, Database, Row
from opencrab.domain.conversation.utterance import DeliveryState, Utterance
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.due_item import DueItem

RETENTION = timedelta(days=35)


class SqliteOutbox:
    """`ports.outbox.Outbox` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, target: str, key: str) -> Utterance:
        with self._database.reading() as items:
            body = items.get(f"OUT#{target}", key)
        if body is None:
            raise NotFound(f"there is no utterance {key!r} for {target!r}")
        return Utterance.model_validate_json(body)

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        pk = f"OUT#{utterance.channel.target}"
        ended = utterance.state.is_end
        with self._database.writing() as items:
            body = items.get(pk, utterance.key)
            # Of two workers with the same utterance only one finds it in this state, and sends it.
            if body is None or Utterance.model_validate_json(body).state is not expected:
                return False
            items.put(
                pk,
                utterance.key,
                utterance.model_dump_json(),
                due=None if ended else ("outbox", utterance.updated_at),
                expires_at=utterance.updated_at + RETENTION if ended else None,
            )
            return True

    def unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        with self._database.reading() as items:
            bodies = items.overdue("outbox", before, limit)
        return tuple(Utterance.model_validate_json(body) for body in bodies)


class SqliteDueItems:
    """`ports.due.DueItems` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, item: DueItem) -> None:
        with self._database.writing() as items:
            items.write(Batch(put=[due_row(item)]))

    def due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        with self._database.reading() as items:
            bodies = items.overdue("due", now, limit)
        return tuple(DueItem.model_validate_json(body) for body in bodies)

    def done(self, item_id: str) -> None:
        with self._database.writing() as items:
            items.delete("DUE", item_id)


def due_row(item: DueItem) -> Row:
    """A due item as it is kept: once, by its id."""
    return Row("DUE", item.id, item.model_dump_json(), due=("due", item.at))
