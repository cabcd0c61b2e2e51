"""Queues on SQLite, and the messages that workers of this process hold."""

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from opencrab.adapters.sqlite.database import Database, SqliteItems, sqlite_milliseconds
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
_ENDED_KEPT = 256

_FIRST_AT = "SELECT min(visible_at) FROM queue WHERE queue=? AND visible_at IS NOT NULL"
_FIRST = (
    "SELECT position, visible_at, body, grp, count, receipt FROM queue "
    "WHERE queue=? AND visible_at IS NOT NULL ORDER BY visible_at, position LIMIT ?"
)
_TAKE = "UPDATE queue SET visible_at=?, receipt=?, count=? WHERE position=? AND receipt IS NULL"
_TAKE_OVER = "UPDATE queue SET visible_at=?, receipt=?, count=? WHERE position=? AND receipt=?"
_REMEMBER = "INSERT INTO sent VALUES (?1,?2,?3) ON CONFLICT DO UPDATE SET until=?3 WHERE until<=?4"
_SEND = (
    "INSERT INTO queue (queue, grp, body, visible_at) VALUES (?1,?2,?3, CASE "
    "WHEN ?5 AND EXISTS (SELECT 1 FROM queue WHERE queue=?1 AND grp=?2) THEN NULL ELSE ?4 END)"
)
_UNCOVER = (
    "UPDATE queue SET visible_at=? WHERE position=("
    "SELECT min(position) FROM queue WHERE queue=? AND grp=?) AND visible_at IS NULL"
)


@dataclass(frozen=True)
class PendingClaim:
    """A message in a worker's hands: its row, which delivery it is, and until when (in ms)."""

    queue: str
    position: int
    count: int
    until: int


class PendingClaimRegistry:
    """The messages that were received and whose turn is not claimed yet.

    One process holds the file, so nobody else needs to know. When it dies they are there as if
    nobody had taken them (ADR 0039).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, PendingClaim] = {}
        self._ended: deque[str] = deque(maxlen=_ENDED_KEPT)
        self._void: deque[str] = deque(maxlen=_ENDED_KEPT)

    @contextmanager
    def choosing(self, queue: str) -> Iterator[dict[int, PendingClaim]]:
        """Yield what is taken of a queue, by position; nobody takes or loses one meanwhile."""
        with self._lock:
            yield {each.position: each for each in self._taken.values() if each.queue == queue}

    def take(self, receipt: str, message: PendingClaim) -> None:
        """Put a message into a worker's hands, out of those of an earlier one; while choosing."""
        # A receipt whose time is over is void once the message is taken again.
        for other, held in list(self._taken.items()):
            if held.position == message.position:
                del self._taken[other]
                self._void.append(other)
        self._taken[receipt] = message

    def void(self, receipt: str) -> None:
        """Remember that the file's receipt of a message is void; while choosing."""
        self._void.append(receipt)

    def is_void(self, receipt: str | None) -> bool:
        """Check whether a message came again since it was received with this receipt."""
        with self._lock:
            return receipt in self._void

    def get(self, receipt: str | None) -> PendingClaim | None:
        """Return the message of a receipt; None if the file has the receipt, or nobody."""
        return None if receipt is None else self._taken.get(receipt)

    def drop(self, receipt: str | None) -> None:
        """Forget a receipt once the file says what became of its message."""
        with self._lock:
            self._taken.pop(receipt or "", None)

    def end(self, receipt: str) -> None:
        """Remember that a turn's end removed its message, for the worker that still has it."""
        with self._lock:
            self._taken.pop(receipt, None)
            self._ended.append(receipt)

    def has_ended(self, receipt: str) -> bool:
        """Check whether the message is gone with its turn."""
        with self._lock:
            return receipt in self._ended

    def release(self, queue: str) -> None:
        """Give all messages of a queue back."""
        with self._lock:
            for receipt, held in list(self._taken.items()):
                if held.queue == queue:
                    del self._taken[receipt]


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
        if delay_seconds:
            require_turn_queue_delay(delay_seconds, ordered=self._ordered)
        message = QueueMessage(self._name, body, group=group, deduplication=deduplication)
        now = sqlite_milliseconds(self._clock.now())
        with self._database.write_transaction() as items:
            add_message_to_sqlite_queue(
                items, message, now, delay_seconds=delay_seconds, ordered=self._ordered
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
        held, now = self._held(receipt), sqlite_milliseconds(self._clock.now())
        # Lost in a power failure, the message comes again, and is found done.
        with self._database.write_transaction(relaxed=True) as items:
            if held is not None:
                write_sqlite_queue_claim(items, receipt, held)
            remove_message_from_sqlite_queue(items, receipt, now)
        self._let_go(receipt, held)

    def continue_later(self, receipt: str, seconds: int) -> bool:
        held = self._held(receipt)
        with self._database.write_transaction(relaxed=True) as items:
            if held is not None:
                write_sqlite_queue_claim(items, receipt, held)
            row = items.execute(
                # Without a receipt the delivery is over: its holder can end it no more.
                "UPDATE queue SET visible_at=?, receipt=NULL WHERE receipt=? RETURNING position",
                (sqlite_milliseconds(self._clock.now()) + seconds * 1000, receipt),
            ).fetchone()
            items.touched.add(self._name)
        self._let_go(receipt, held)
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
                row: tuple[int | None] = items.execute(_FIRST_AT, (self._name,)).fetchone()
            return row[0]
        with self._taken.choosing(self._name) as taken, self._database.read_transaction() as items:
            rows = items.execute(_FIRST, (self._name, len(taken) + 1)).fetchall()
            first = _first_free(rows, taken)
        return None if first is None else first[1]

    def _take(self, visibility_seconds: int) -> Delivery | None:
        if self._taken is not None:
            return self._take_for_claim(self._taken, visibility_seconds)
        # Looked at first, since whoever polls an empty queue must not write, nor wait for those who
        # do. Between here and there another worker may take it.
        with self._database.read_transaction() as items:
            (visible_at,) = items.execute(_FIRST_AT, (self._name,)).fetchone()
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
            now = sqlite_milliseconds(self._clock.now())
            with self._database.read_transaction() as items:
                rows = items.execute(_FIRST, (self._name, len(taken) + 1)).fetchall()
            first = _first_free(rows, taken)
            if first is None or first[1] > now:
                return None
            position, _, body, group, count, earlier = first
            # A delivery that nobody claimed in time was one, too.
            count = 1 + max(count, taken[position].count if position in taken else 0)
            receipt, until = secrets.token_hex(16), now + visibility_seconds * 1000
            held = PendingClaim(self._name, position, count, until)
            if earlier is None:
                registry.take(receipt, held)
            elif self._take_over(earlier, receipt, held):
                registry.void(earlier)
            else:
                return None
        return Delivery(body, group, receipt, count)

    def _take_over(self, earlier: str, receipt: str, held: PendingClaim) -> bool:
        """Write that a message has another worker; False if its worker has just ended it.

        Its worker may be late and not dead. Were its receipt still in the file, it could remove the
        message from the hands of this one, and the next one of the group would come beside it.
        """
        with self._database.write_transaction(relaxed=True) as items:
            taken = (held.until, receipt, held.count, held.position, earlier)
            return bool(items.execute(_TAKE_OVER, taken).rowcount)

    def _held(self, receipt: str) -> PendingClaim | None:
        """Return the claim of a message that is merely taken, to write before its receipt is."""
        return None if self._taken is None else self._taken.get(receipt)

    def _let_go(self, receipt: str, held: PendingClaim | None) -> None:
        """Forget a claim that was written."""
        if self._taken is not None and held is not None:
            self._taken.drop(receipt)
            # Whoever was woken by the commit may have found it still taken.
            self._topic.advance()

    def _until_visible(self) -> float:
        visible_at = self.next_visible_at()
        if visible_at is None:
            return 60.0
        return max((visible_at - sqlite_milliseconds(self._clock.now())) / 1000, 0.001)


def _first_free(
    rows: Iterable[tuple[int, int, str, str, int, str | None]], taken: Mapping[int, PendingClaim]
) -> tuple[int, int, str, str, int, str | None] | None:
    """Return the message that can be received first: position, when, body, group, count, receipt.

    The receipt is that of an earlier delivery, which claimed it.
    """
    free = (
        (row[0], max(row[1], taken[row[0]].until if row[0] in taken else 0), *row[2:])
        for row in rows
    )
    return min(free, key=lambda row: (row[1], row[0]), default=None)


def add_message_to_sqlite_queue(
    items: SqliteItems,
    message: QueueMessage,
    now: int,
    *,
    delay_seconds: int = 0,
    ordered: bool = True,
) -> None:
    """Send a message, unless one with its deduplication id was sent within 5 minutes.

    `now` is in ms since 1970.
    """
    until = now + int(DEDUPLICATION.total_seconds() * 1000)
    # What is remembered of a message is committed with it: neither is ever there alone.
    known = (message.queue, message.deduplication, until, now)
    if items.execute(_REMEMBER, known).rowcount:
        items.touched.add(message.queue)
        visible_at = now + delay_seconds * 1000
        items.execute(_SEND, (message.queue, message.group, message.body, visible_at, ordered))


def write_sqlite_queue_claim(items: SqliteItems, receipt: str, held: PendingClaim) -> bool:
    """Write who holds a message, and until when; return False if it is gone or in other hands."""
    taken = items.execute(_TAKE, (held.until, receipt, held.count, held.position))
    return bool(taken.rowcount)


def remove_message_from_sqlite_queue(
    items: SqliteItems, receipt: str, now: int, *, queue: str | None = None
) -> bool:
    """Remove a message by its receipt, and make the next one of its group visible.

    `now` is in ms since 1970. With `queue` only if it is a message of that queue; return whether
    one was removed.
    """
    # One transaction: a head that is removed while the next one stays covered would let its group
    # stand still for ever (ADR 0005).
    row = items.execute(
        "DELETE FROM queue WHERE receipt=?1 AND queue=coalesce(?2, queue) RETURNING queue, grp",
        (receipt, queue),
    ).fetchone()
    if row is not None:
        items.touched.add(row[0])
        items.execute(_UNCOVER, (now, *row))
    return row is not None
