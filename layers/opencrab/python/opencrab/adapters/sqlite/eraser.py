"""Erasing on SQLite: rows are overwritten or removed, then their pages are cleared."""

import json
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from opencrab.adapters.sqlite.database import Database, SqliteItems
from opencrab.adapters.sqlite.journal import RETENTION, turn_records_in_sqlite
from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn
from opencrab.ports.erasure import RemainingCopy, erasure_not_ended

if TYPE_CHECKING:
    from opencrab.adapters.sqlite.erasure.text_scan import SqliteTextScan

_FEED = (
    "SELECT position, body FROM feed WHERE kind='line' AND session_id=? AND"
    " json_extract(body, '$.sequence') IN (SELECT value FROM json_each(?))"
)
_ANSWERS = "DELETE FROM item WHERE pk>='IDEMPOTENCY#' AND pk<'IDEMPOTENCY$' AND instr(body, ?) > 0"
_GIVEN_UP = "DEAD#interactions"
_OUTSIDE = re.compile(r"(?:discord|email|line|slack|telegram)-([0-9A-Za-z]+)", re.ASCII)
"""A person of Discord, LINE, Slack, Telegram or e-mail, by the service's id."""

_LETTERS = "DELETE FROM item WHERE pk>='DEAD#' AND pk<'DEAD$' AND instr(body, ?) > 0"


class SqliteEraser:
    """`ports.erasure.Eraser` on one SQLite file."""

    out_of_reach = (RemainingCopy.BACKUPS, RemainingCopy.FILE_VERSIONS)

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def scan(self) -> "SqliteTextScan":
        """The quick way through the stored rows, loaded when it is used."""
        from opencrab.adapters.sqlite.erasure.text_scan import SqliteTextScan  # noqa: PLC0415 - seldom needed

        return SqliteTextScan(self._database)

    def redact(self, session_id: str, sequences: Collection[int]) -> None:
        with self._database.write_transaction() as items:
            for sequence in sequences:
                _redact(items, session_id, sequence)
            _redact_feed(items, session_id, sequences)

    def strip_session(self, session_id: str) -> None:
        pk = f"SESSION#{session_id}"
        with self._database.write_transaction() as items:
            stored = items.get(pk, "S")
            if stored is not None:
                bare = Session.from_stored(stored).without_opening_words()
                items.put(pk, "S", bare.model_dump_json(), listing="session")
            items.execute(_ANSWERS, (session_id,))

    def turns_of(self, *groups: str) -> dict[str, tuple[str, ...]]:
        with self._database.read_transaction() as items:
            found = {group: items.get(f"MESSAGE#{group}", "M") or "" for group in groups}
        # That of an instruction is only the number of its line.
        return {group: tuple(marker.split(" ")[1:]) for group, marker in found.items()}

    def records_of(self, turn_id: str) -> tuple[Record, ...]:
        with self._database.read_transaction() as items:
            return turn_records_in_sqlite(items, turn_id)

    def erase_turn(self, turn_id: str) -> None:
        pk = f"TURN#{turn_id}"
        with self._database.write_transaction() as items:
            stored = items.get(pk, "H")
            turn = None if stored is None else Turn.from_stored(stored)
            if turn is not None and not turn.status.is_end:
                raise erasure_not_ended(turn)
            if turn is not None and turn.channel is not None:
                _delete_below(items, f"OUT#{turn.channel.target}", f"{turn_id}#", f"{turn_id}$")
            _delete_below(items, pk, "0", ":")
            for statement in (_ANSWERS, _LETTERS):
                items.execute(statement, (turn_id,))
            if turn is not None:
                expires = (turn.ended_at or turn.created_at) + RETENTION
                items.put(pk, "H", turn.without_content().model_dump_json(), expires_at=expires)

    def drop_letters(self, person_id: str) -> None:
        named = _OUTSIDE.fullmatch(person_id)
        if named is None:
            return
        alone = re.compile(f"(?<![0-9a-zA-Z]){named[1]}(?![0-9a-zA-Z])")
        with self._database.write_transaction() as items:
            for sort_key, body in items.between(_GIVEN_UP, "0", ":"):
                if alone.search(body):
                    items.delete(_GIVEN_UP, sort_key)

    def scrub_storage(self) -> None:
        self._database.scrub()


def _redact(items: SqliteItems, session_id: str, sequence: int) -> None:
    pk, sk = f"SESSION#{session_id}", f"L#{sequence:010d}"
    stored = items.get(pk, sk)
    if stored is None:
        return
    items.put(pk, sk, Line.from_stored(stored).without_content().model_dump_json())
    items.delete(f"INBOX#{session_id}", f"{sequence:010d}")


def _redact_feed(items: SqliteItems, session_id: str, sequences: Collection[int]) -> None:
    """Erase the text of lines in the feed, which holds a copy of each line."""
    for position, body in items.execute(
        _FEED, (session_id, json.dumps(list(sequences)))
    ).fetchall():
        bare = Line.from_stored(body).without_content().model_dump_json()
        items.execute("UPDATE feed SET body=? WHERE position=?", (bare, position))


def _delete_below(items: SqliteItems, pk: str, low: str, high: str) -> None:
    items.execute("DELETE FROM item WHERE pk=? AND sk>=? AND sk<?", (pk, low, high))
