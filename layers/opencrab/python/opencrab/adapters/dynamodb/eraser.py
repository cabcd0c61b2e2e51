"""Erasing in the table: items are overwritten or removed; copies for recovery keep them longer."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.conversation import session as sessions
from opencrab.adapters.dynamodb.conversation import utterance as utterances
from opencrab.adapters.dynamodb.conversation.session import CountedSession, SessionCache
from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import (
    TRANSACTION_ITEMS,
    Cancelled,
    Table,
    Write,
    delete_item,
    put_item,
)
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import instruction as inbox
from opencrab.adapters.dynamodb.turn import message as markers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.record import Record
from opencrab.ports.erasure import erasure_not_ended

Change = Callable[[CountedSession], CountedSession]

_AT_ONCE = (TRANSACTION_ITEMS - 1) // 3
"""Lines beside their session; one that instructed somebody is three items."""


class DynamoEraser:
    """`ports.erasure.Eraser` on the table.

    Backups for point-in-time recovery keep what is erased for 35 days, the stream for a day.
    """

    def __init__(self, table: Table, seen: SessionCache) -> None:
        self._table = table
        self._seen = seen

    def redact(self, session_id: str, sequences: Collection[int]) -> None:
        pending = iter(sequences)
        while chunk := list(islice(pending, _AT_ONCE)):
            writes = self._redacting(session_id, chunk)
            if writes:
                self._change(session_id, CountedSession.redacted, *writes)

    def strip_session(self, session_id: str) -> None:
        self._change(session_id, lambda known: known.grown(0, known.session.stripped()))

    def turns_of(self, *groups: str) -> dict[str, tuple[str, ...]]:
        keys = {group: (markers.message_partition(group), markers.MARK) for group in groups}
        found = self._table.several(list(keys.values()))
        # That of an instruction names no turns.
        return {group: markers.turns_in(found.get(key, {})) for group, key in keys.items()}

    def records_of(self, turn_id: str) -> tuple[Record, ...]:
        return records.fetch_turn_records(self._table, turn_id)

    def erase_turn(self, turn_id: str) -> None:
        stored = self._table.get(headers.turn_partition(turn_id), headers.HEADER)
        turn = None if stored is None else headers.from_item(stored)
        if turn is not None and not turn.status.is_end:
            raise erasure_not_ended(turn)
        gone: list[Item] = []
        if turn is not None and turn.channel is not None:
            gone += utterances.utterances_of_turn(self._table, turn.channel.target, turn_id)
        gone += records.items_of(self._table, turn_id)
        self._remove(gone)
        if turn is not None:
            self._table.write(put_item(headers.to_item(turn.erased())))

    def drop_letters(self, person_id: str) -> None:
        """Dead letters lie in queues, which cannot be searched: they end by themselves."""

    def wipe(self) -> None:
        """The medium is not ours."""

    def _redacting(self, session_id: str, sequences: Iterable[int]) -> tuple[Write, ...]:
        pk = sessions.session_partition(session_id)
        found = self._table.several([(pk, line_items.line_sort_key(one)) for one in sequences])
        lines = [line_items.from_item(item) for item in found.values()]
        told = [line.message_id for line in lines if line.message_id is not None]
        known = self._table.several(
            [(markers.message_partition(one), markers.MARK) for one in told]
        )
        return tuple(write for line in lines for write in _erasing(line, known))

    def _change(self, session_id: str, after: Change, *writes: Write) -> None:
        """Change a session and what belongs to it.

        Its count of redactions moves with its lines: every process that remembers some of them
        reads the session with every turn, and so learns that they are not what they were.
        """
        for _ in range(sessions.ATTEMPTS):
            try:
                known = sessions.fetch_session(self._table, self._seen, session_id)
            except NotFound:
                return
            changed = after(known)
            try:
                self._table.transact(sessions.session_update(known, changed), *writes)
            except Cancelled:
                continue
            self._seen.note(changed)
            return
        raise sessions.busy_session_error(session_id)

    def _remove(self, items: Iterable[Item]) -> None:
        pending = iter(items)
        while chunk := list(islice(pending, TRANSACTION_ITEMS)):
            self._table.transact(*(delete_item(one["pk"]["S"], one["sk"]["S"]) for one in chunk))


def _erasing(line: Line, known: dict[tuple[str, str], Item]) -> Iterator[Write]:
    """The line without its words, and without those of the instruction that it was."""
    yield put_item(line_items.to_item(line.erased()))
    if line.message_id is None:
        return
    marker = known.get((markers.message_partition(line.message_id), markers.MARK))
    yield from inbox.instruction_erasure(marker, line.session_id, line.sequence)
