"""The newest lines of sessions, of which a process reads each only once."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from opencrab.adapters.dynamodb.conversation.line import (
    LAST,
    dynamodb_line_sort_key,
    line_from_dynamodb_item,
)
from opencrab.adapters.dynamodb.conversation.session import (
    CountedSession,
    SessionCache,
    dynamodb_session_partition,
)
from opencrab.adapters.dynamodb.table import Table
from opencrab.domain.conversation.message import Line

KEPT_BYTES = 16 * 2**20
_LINE_BYTES = 2_048


@dataclass(frozen=True)
class _Kept:
    """Cached lines of one session, their estimated bytes, and the session's redaction count."""

    lines: tuple[Line, ...]
    size: int
    redactions: int


_NOTHING = _Kept((), 0, 0)


class LineCache:
    """An LRU cache of the newest lines of some sessions, limited by bytes.

    Lines are immutable until they are redacted, and sequences have no gaps, so that only lines
    after the newest cached one must be read. An entry is valid while the session's redaction count
    is the one from before its lines were read.
    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def newest(self, session_id: str, limit: int, redactions: int = 0) -> tuple[Line, ...]:
        """Return cached lines, oldest first, if they cover `limit` or the whole session.

        Else ().
        """
        with self._lock:
            kept = self._kept.get(session_id, _NOTHING)
        if kept.redactions != redactions:
            return ()
        lines = kept.lines
        return lines if len(lines) >= limit or (lines and lines[0].sequence == 1) else ()

    def keep(self, session_id: str, lines: tuple[Line, ...], redactions: int = 0) -> None:
        """Cache a session's lines, oldest first, and evict the least recently used sessions."""
        kept = _Kept(lines, sum(map(_weight, lines)), redactions)
        with self._lock:
            self._bytes += kept.size - self._kept.pop(session_id, _NOTHING).size
            self._kept[session_id] = kept
            while self._bytes > self._most_bytes:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.size


def newest_dynamodb_lines(
    table: Table, seen: SessionCache, recent: LineCache, session_id: str, limit: int
) -> tuple[Line, ...]:
    """Return a session's newest lines, newest first; query only those that are not cached.

    The first query is eventually consistent, at half the price. A replica that lags lacks the last
    lines. So the result is complete if it reaches the newest line known to this process without a
    gap. After a redaction a replica may still return the old text: then the query is strongly
    consistent unless cached lines were read after it. Unknown sessions are read consistently too.
    """
    session = seen.guess(session_id)
    redactions = session.redactions if session else 0
    known = recent.newest(session_id, limit, redactions) if session else ()
    first = known[-1].sequence + 1 if known else 1

    def read(*, consistent: bool) -> tuple[Line, ...]:
        low, high = dynamodb_line_sort_key(first), dynamodb_line_sort_key(LAST)
        items = table.query(
            dynamodb_session_partition(session_id),
            low,
            high,
            limit=limit,
            newest_first=True,
            consistent=consistent,
        )
        return tuple(line_from_dynamodb_item(item) for item in reversed(items))

    sound = redactions == 0 or bool(known)
    new = read(consistent=not sound)
    if sound and _is_behind(new, session, first, limit):
        new = read(consistent=True)
    lines = (*known, *new)[-limit:] if len(new) < limit else new
    if new and session:
        recent.keep(session_id, lines, redactions)
    return tuple(reversed(lines))


def _weight(line: Line) -> int:
    """Estimate the bytes that a line takes in memory; most of them are not its text."""
    said = len(line.text) + (len(str(line.data)) if line.data else 0)
    return _LINE_BYTES + 4 * said


def _is_behind(new: Sequence[Line], known: CountedSession | None, first: int, limit: int) -> bool:
    """Check whether an eventually consistent query may have missed lines."""
    if known is None:
        return True
    last = new[-1].sequence if new else first - 1
    whole = len(new) == limit or not new or new[0].sequence == first
    return last < known.lines or not whole or (bool(new) and last - new[0].sequence + 1 != len(new))
