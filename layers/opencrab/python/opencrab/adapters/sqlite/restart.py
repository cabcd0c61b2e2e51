"""Restart: what a dead process held is given back, and its death is judged, in one transaction."""

import json
from collections.abc import Sequence
from datetime import datetime

from opencrab.adapters.sqlite.database import Database, SqliteItems, sqlite_milliseconds
from opencrab.adapters.sqlite.journal import put_sqlite_turn, sqlite_turn
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.crash import CrashRule
from opencrab.domain.turn.turn import Turn, TurnStatus

_GIVEN_BACK = "UPDATE queue SET receipt=NULL, visible_at=? WHERE position=?"

_Row = tuple[int, str, str | None, int]
"""Position, body, receipt, and since when or from when on it is visible."""


def give_back_sqlite_leases(
    database: Database, queues: Sequence[str], rule: CrashRule, now: datetime
) -> None:
    """Make messages visible again that a crashed process held; call once, at startup.

    Turns that it was running are judged by the crash rule. Suspects stay invisible for their pause,
    which starts over with each start: a process that is killed as soon as it is ready runs none.
    """
    with database.write_transaction() as items:
        rows = [row for queue in queues for row in _delivered_messages(items, queue)]
        turns = {
            row[0]: turn for row in rows if (turn := _turn_of_message(items, row[1])) is not None
        }
        running = {
            row[0]: turn
            for row in rows
            if (turn := turns.get(row[0])) is not None and _is_running(turn, row[2])
        }
        # The clock may have been set back while nothing ran; a life has no negative length.
        judged = rule.turns_after_crash(running.values(), min(database.last_alive, now))
        for position, turn in zip(running, judged, strict=True):
            put_sqlite_turn(items, turn, before=turn.status)
            turns[position] = turn
        for position, _body, receipt, visible_at in rows:
            turn = turns.get(position)
            at = sqlite_milliseconds(now if turn is None else now + rule.start_delay(turn))
            if receipt is None:
                at = max(visible_at, at) if turn is not None and turn.is_suspect else visible_at
            items.execute(_GIVEN_BACK, (at, position))


def _delivered_messages(items: SqliteItems, queue: str) -> list[_Row]:
    """Return messages that were received at least once and are the head of their group."""
    return items.execute(
        "SELECT position, body, receipt, visible_at FROM queue "
        "WHERE queue=? AND count>0 AND visible_at IS NOT NULL",
        (queue,),
    ).fetchall()


def _turn_of_message(items: SqliteItems, body: str) -> Turn | None:
    """Return the turn that a message names; None if it names none or the turn is gone."""
    try:
        turn_id = json.loads(body)["turn"]
        return sqlite_turn(items, str(turn_id))
    except (ValueError, TypeError, KeyError, RecursionError, NotFound):
        return None


def _is_running(turn: Turn, receipt: str | None) -> bool:
    """Check whether the turn was claimed with this delivery, and is still running."""
    return receipt is not None and turn.receipt == receipt and turn.status is TurnStatus.RUNNING
