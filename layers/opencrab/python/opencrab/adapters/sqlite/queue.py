"""Queues on SQLite, and the utterances that wait to be delivered."""

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from opencrab.adapters.sqlite.database import (
    Database,
    ItemRow,
    SqliteItems,
    WriteBatch,
    sqlite_milliseconds,
)
from opencrab.adapters.sqlite.transaction.pending_claim import PendingClaim, PendingClaimRegistry
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.due_item import DueItem
from opencrab.ports.clock import Clock
from opencrab.ports.turn.queue import (
    BatchedMessage,
    Delivery,
    QueueMessage,
    require_turn_queue_delay,
)

TURNS = "turns"
"""The queue of turns that people wait for, whose messages are done when their turns are."""

DEDUPLICATION = timedelta(minutes=5)
_DEAD_KEPT = timedelta(days=14)

_FIRST_AT = "SELECT min(visible_at) FROM queue WHERE queue=? AND visible_at IS NOT NULL"
_FIRST = (
    "SELECT position, visible_at, body, grp, count FROM queue "
    "WHERE queue=? AND visible_at IS NOT NULL ORDER BY visible_at, position LIMIT ?"
)
_TAKE = "UPDATE queue SET visible_at=?, receipt=?, count=? WHERE position=?"
_REMEMBER = "INSERT INTO sent VALUES (?1,?2,?3) ON CONFLICT DO UPDATE SET until=?3 WHERE until<=?4"
_SEND = (
    "INSERT INTO queue (queue, grp, body, visible_at) VALUES (?1,?2,?3, CASE "
    "WHEN ?5 AND EXISTS (SELECT 1 FROM queue WHERE queue=?1 AND grp=?2) THEN NULL ELSE ?4 END)"
)
_UNCOVER = (
    "UPDATE queue SET visible_at=? WHERE position=("
    "SELECT min(position) FROM queue WHERE queue=? AND grp=?) AND visible_at IS NULL"
)


class SqliteQueue:
    """`ports.turn.queue.Queue` on one SQLite file.

    In an `ordered` queue only the head of each group has a `visible_at`; finishing the head makes
    the next message visible, so that receiving never scans messages that must wait. In other queues
    each message is visible by itself, after its delay. With `taken` a received message is held
    there until its turn is claimed, which writes both (`SqliteJournal.claim`).
    """

    def __init__(
        self,
        database: Database,
        name: str,
        clock: Clock,
        *,
        ordered: bool = True,
        taken: PendingClaimRegistry | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._topic = database.topic(name)
        self._clock = clock
        self._ordered = ordered
        self._taken = taken

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        require_turn_queue_delay(delay_seconds, ordered=self._ordered)
        message = QueueMessage(self._name, body, group=group, deduplication=deduplication)
        with self._database.write_transaction() as items:
            add_message_to_sqlite_queue(
                items,
                message,
                self._clock.now(),
                delay_seconds=delay_seconds,
                ordered=self._ordered,
            )

    def send_batch(self, messages: Iterable[BatchedMessage]) -> None:
        for each in messages:
            self.send(
                each.body,
                group=each.group,
                deduplication=each.deduplication,
                delay_seconds=each.delay_seconds,
            )

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        deadline = time.monotonic() + wait_seconds
        while True:
            generation = self._topic.generation
            delivery = self._take(visibility_seconds)
            left = deadline - time.monotonic()
            if delivery is not None or left <= 0:
                return delivery
            self._topic.wait(generation, min(left, self._until_visible()))

    def acknowledge(self, receipt: str) -> None:
        # Most turns have removed their message with their end.
        if self._taken is not None and self._taken.has_ended(receipt):
            return
        # Lost in a power failure, the message comes again, and is found done.
        with self._write_of_holder(receipt) as items:
            remove_message_from_sqlite_queue(items, receipt, self._clock.now())

    def continue_later(self, receipt: str, seconds: int) -> bool:
        with self._write_of_holder(receipt) as items:
            row = items.execute(
                # Without a receipt the delivery is over: its holder can end it no more.
                "UPDATE queue SET visible_at=?, receipt=NULL WHERE receipt=? RETURNING position",
                (sqlite_milliseconds(self._clock.now()) + seconds * 1000, receipt),
            ).fetchone()
            items.touched.add(self._name)
        return row is not None

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        now = self._clock.now()
        with self._database.write_transaction() as items:
            items.put(
                f"DEAD#{self._name}",
                f"{sqlite_milliseconds(now):015d}#{secrets.token_hex(4)}",
                json.dumps([body, reason, group], ensure_ascii=False),
                expires_at=now + _DEAD_KEPT,
            )

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        with self._database.read_transaction() as items:
            rows = items.between(f"DEAD#{self._name}", "0", ":", limit=limit, newest_first=True)
        letters = (json.loads(row[1]) for row in rows)
        return tuple((body, reason) for body, reason, _group in letters)

    def release(self) -> None:
        """Make messages visible again that a crashed process's workers held.

        Call once, at startup.
        """
        if self._taken is not None:
            self._taken.release(self._name)
        with self._database.write_transaction() as items:
            items.execute(
                "UPDATE queue SET visible_at=?, receipt=NULL WHERE queue=? AND receipt IS NOT NULL",
                (sqlite_milliseconds(self._clock.now()), self._name),
            )

    def depth(self) -> int:
        """Return the number of messages that wait or are in flight."""
        with self._database.read_transaction() as items:
            return int(
                items.execute("SELECT count(*) FROM queue WHERE queue=?", (self._name,)).fetchone()[
                    0
                ]
            )

    def next_visible_at(self) -> int | None:
        """Return when the next message can be received, in ms since 1970; None if there is none."""
        if self._taken is None:
            with self._database.read_transaction() as items:
                row = items.execute(_FIRST_AT, (self._name,)).fetchone()
            return None if row is None else row[0]
        with self._taken.choosing(self._name) as taken:
            first = self._first(taken)
        return None if first is None else first[1]

    def _take(self, visibility_seconds: int) -> Delivery | None:
        if self._taken is not None:
            return self._take_for_claim(self._taken, visibility_seconds)
        # Looked at first, since whoever polls an empty queue must not write, nor wait for those who
        # do. Between here and there another worker may take it.
        visible_at = self.next_visible_at()
        if visible_at is None or visible_at > (now := sqlite_milliseconds(self._clock.now())):
            return None
        receipt = secrets.token_hex(16)
        # Lost in a power failure, the message is there as if nobody had taken it.
        with self._database.write_transaction(relaxed=True) as items:
            row = items.execute(
                "UPDATE queue SET visible_at=?, receipt=?, count=count+1 WHERE position=("
                "SELECT position FROM queue WHERE queue=? AND visible_at<=? "
                "ORDER BY visible_at, position LIMIT 1) RETURNING body, grp, count",
                (now + visibility_seconds * 1000, receipt, self._name, now),
            ).fetchone()
        return Delivery(row[0], row[1], receipt, row[2]) if row else None

    def _take_for_claim(
        self, registry: PendingClaimRegistry, visibility_seconds: int
    ) -> Delivery | None:
        with registry.choosing(self._name) as taken:
            first, now = self._first(taken), sqlite_milliseconds(self._clock.now())
            if first is None or first[1] > now:
                return None
            position, _, body, group, count = first
            # A delivery that nobody claimed in time was one, too.
            count = 1 + max(count, taken[position].count if position in taken else 0)
            receipt, until = secrets.token_hex(16), now + visibility_seconds * 1000
            registry.take(receipt, PendingClaim(self._name, position, count, until))
        return Delivery(body, group, receipt, count)

    def _first(self, taken: Mapping[int, PendingClaim]) -> tuple[int, int, str, str, int] | None:
        """Return the message that can be received first: position, when, body, group, count."""
        with self._database.read_transaction() as items:
            rows = items.execute(_FIRST, (self._name, len(taken) + 1)).fetchall()
        free = (
            (row[0], max(row[1], taken[row[0]].until if row[0] in taken else 0), *row[2:])
            for row in rows
        )
        return min(free, key=lambda row: (row[1], row[0]), default=None)

    @contextmanager
    def _write_of_holder(self, receipt: str) -> Iterator[SqliteItems]:
        """Open a transaction in which the receipt of a message that is merely taken is written."""
        held = None if self._taken is None else self._taken.get(receipt)
        with self._database.write_transaction(relaxed=True) as items:
            if held is not None:
                write_sqlite_queue_claim(items, receipt, held)
            yield items
        if self._taken is not None and held is not None:
            self._taken.drop(receipt)
            # Whoever was woken by the commit may have found it still taken.
            self._topic.advance()

    def _until_visible(self) -> float:
        visible_at = self.next_visible_at()
        if visible_at is None:
            return 60.0
        return max((visible_at - sqlite_milliseconds(self._clock.now())) / 1000, 0.001)


def add_message_to_sqlite_queue(
    items: SqliteItems,
    message: QueueMessage,
    now: datetime,
    *,
    delay_seconds: int = 0,
    ordered: bool = True,
) -> None:
    """Send a message, unless one with its deduplication id was sent within 5 minutes."""
    at = sqlite_milliseconds(now)
    until = at + int(DEDUPLICATION.total_seconds() * 1000)
    # What is remembered of a message is committed with it: neither is ever there alone.
    known = (message.queue, message.deduplication, until, at)
    if items.execute(_REMEMBER, known).rowcount:
        items.touched.add(message.queue)
        visible_at = at + delay_seconds * 1000
        items.execute(_SEND, (message.queue, message.group, message.body, visible_at, ordered))


def write_sqlite_queue_claim(items: SqliteItems, receipt: str, held: PendingClaim) -> None:
    """Write who holds a message, and until when, if it is still there."""
    items.execute(_TAKE, (held.until, receipt, held.count, held.position))


def remove_message_from_sqlite_queue(
    items: SqliteItems, receipt: str, now: datetime, *, queue: str | None = None
) -> bool:
    """Remove a message by its receipt, and make the next one of its group visible.

    With `queue` only if it is a message of that queue; return whether one was removed.
    """
    # One transaction: a head that is removed while the next one stays covered would let its group
    # stand still for ever (ADR 0005).
    row = items.execute(
        "DELETE FROM queue WHERE receipt=?1 AND queue=coalesce(?2, queue) RETURNING queue, grp",
        (receipt, queue),
    ).fetchone()
    if row is not None:
        items.touched.add(row[0])
        items.execute(_UNCOVER, (sqlite_milliseconds(now), *row))
    return row is not None


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
