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
    delete_dynamodb_item,
    put_item,
)
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import instruction as inbox
from opencrab.adapters.dynamodb.turn import message as markers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.record import Record
from opencrab.ports.erasure import RemainingCopy, erasure_not_ended

Change = Callable[[CountedSession], CountedSession]

_AT_ONCE = (TRANSACTION_ITEMS - 1) // 3
"""Lines beside their session; one that instructed somebody is three items."""


class DynamoEraser:
    """`ports.erasure.Eraser` on a DynamoDB table.

    Erased data remains in point-in-time recovery for 35 days, and in the stream for 24 hours.
    """

    out_of_reach = (RemainingCopy.DYNAMODB_BACKUPS, RemainingCopy.S3_VERSIONS)
    scan = None

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
        self._change(
            session_id,
            lambda known: known.grown(
                0, known.session.without_opening_words().without_unknown_fields()
            ),
        )

    def turns_of(self, *groups: str) -> dict[str, tuple[str, ...]]:
        keys = {
            group: (markers.dynamodb_message_partition(group), markers.MARK) for group in groups
        }
        found = self._table.get_many(list(keys.values()))
        # That of an instruction names no turns.
        return {
            group: markers.turn_ids_of_marker_item(found.get(key, {}))
            for group, key in keys.items()
        }

    def records_of(self, turn_id: str) -> tuple[Record, ...]:
        return records.get_dynamodb_records(self._table, turn_id)

    def erase_turn(self, turn_id: str) -> None:
        stored = self._table.get(headers.dynamodb_turn_partition(turn_id), headers.HEADER)
        turn = None if stored is None else headers.turn_from_dynamodb_item(stored)
        if turn is not None and not turn.status.is_end:
            raise erasure_not_ended(turn)
        gone: list[Item] = []
        if turn is not None and turn.channel is not None:
            gone += utterances.query_utterance_items(self._table, turn.channel.target, turn_id)
        gone += records.query_turn_record_items(self._table, turn_id)
        self._remove(gone)
        if turn is not None:
            self._table.write(
                put_item(
                    headers.turn_to_dynamodb_item(turn.without_content().without_unknown_fields())
                )
            )

    def drop_letters(self, person_id: str) -> None:
        """Do nothing: SQS dead-letter queues cannot be searched; their messages expire."""

    def scrub_storage(self) -> None:
        """Do nothing: DynamoDB's storage cannot be overwritten."""

    def _redacting(self, session_id: str, sequences: Iterable[int]) -> tuple[Write, ...]:
        pk = sessions.dynamodb_session_partition(session_id)
        found = self._table.get_many(
            [(pk, line_items.dynamodb_line_sort_key(one)) for one in sequences]
        )
        lines = [line_items.line_from_dynamodb_item(item) for item in found.values()]
        told = [line.message_id for line in lines if line.message_id is not None]
        known = self._table.get_many(
            [(markers.dynamodb_message_partition(one), markers.MARK) for one in told]
        )
        return tuple(write for line in lines for write in _erasing(line, known))

    def _change(self, session_id: str, after: Change, *writes: Write) -> None:
        """Write a session's change and the other writes in one transaction, with retries.

        A redaction raises the session's redaction count: every process reads the session in each
        turn, and so learns that its cached lines are stale.
        """
        for _ in range(sessions.ATTEMPTS):
            try:
                known = sessions.get_dynamodb_session(self._table, self._seen, session_id)
            except NotFound:
                return
            changed = after(known)
            try:
                self._table.transact(sessions.dynamodb_session_update(known, changed), *writes)
            except Cancelled:
                continue
            self._seen.note(changed)
            return
        raise sessions.busy_dynamodb_session(session_id)

    def _remove(self, items: Iterable[Item]) -> None:
        pending = iter(items)
        while chunk := list(islice(pending, TRANSACTION_ITEMS)):
            self._table.transact(
                *(delete_dynamodb_item(one["pk"]["S"], one["sk"]["S"]) for one in chunk)
            )


def _erasing(line: Line, known: dict[tuple[str, str], Item]) -> Iterator[Write]:
    """Yield the writes that remove a line's text, and that of the instruction it was."""
    yield put_item(
        line_items.line_to_dynamodb_item(line.without_content().without_unknown_fields())
    )
    if line.message_id is None:
        return
    marker = known.get((markers.dynamodb_message_partition(line.message_id), markers.MARK))
    yield from inbox.dynamodb_instruction_erasure_writes(marker, line.session_id, line.sequence)
