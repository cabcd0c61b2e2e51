"""Sessions in the table, and the counter that numbers their lines without gaps.

The session's item counts its lines and its own changes. Whoever appends a line or changes the
session does so under the condition that both are as known; what is known comes from the last look
at the item in this process, and a wrong guess is answered with the right one.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.document import document_from_dynamodb_item as document_from_item
from opencrab.adapters.dynamodb.document import dynamodb_document_key
from opencrab.adapters.dynamodb.item import Item, Schema, item_shard, item_with_defaults
from opencrab.adapters.dynamodb.listing import page_of_dynamodb_items
from opencrab.adapters.dynamodb.table import (
    ConditionFailed,
    Table,
    Write,
    dynamodb_attribute_changes,
    item_absent,
    join_dynamodb_conditions,
    put_item,
    update_item,
)
from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.conversation.message import (
    decode_messages_left_unanswered,
    encode_messages_left_unanswered,
)
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Conflict, NotFound, Unavailable

SCHEMA = Schema("session", (item_with_defaults, item_with_defaults))
LIST = "session"
HEAD = "S"
ATTEMPTS = 10
PATIENCE = 30
"""Tries of a change that must not be given up lightly: behind it is a model's paid answer."""

_KNOWN = 256


@dataclass(frozen=True)
class CountedSession:
    """A session with its number of lines, its version and its redaction count."""

    session: Session
    lines: int
    version: int
    redactions: int = 0

    def grown(self, lines: int, session: Session | None = None) -> "CountedSession":
        """Return the counts after a change that appended a number of lines."""
        return CountedSession(
            session or self.session, self.lines + lines, self.version + 1, self.redactions
        )

    def redacted(self) -> "CountedSession":
        """Return the counts after a redaction, which invalidates cached lines."""
        return replace(self, version=self.version + 1, redactions=self.redactions + 1)


class SessionCache:
    """An LRU cache of sessions; entries may be stale, so every write is conditional on them."""

    def __init__(self, capacity: int = _KNOWN) -> None:
        self._capacity = capacity
        self._counted: OrderedDict[str, CountedSession] = OrderedDict()
        self._lock = Lock()

    def note(self, counted: CountedSession) -> CountedSession:
        """Cache a session as it was read or written, unless a newer version is cached."""
        session_id = counted.session.id
        with self._lock:
            known = self._counted.pop(session_id, counted)
            self._counted[session_id] = max(known, counted, key=lambda one: one.version)
            if len(self._counted) > self._capacity:
                self._counted.popitem(last=False)
        return counted

    def correct(self, counted: CountedSession) -> CountedSession:
        """Cache the session that a failed condition returned, whatever was cached before."""
        with self._lock:
            self._counted.pop(counted.session.id, None)
        return self.note(counted)

    def guess(self, session_id: str) -> CountedSession | None:
        """Return the cached session, which may be stale; None without one."""
        with self._lock:
            return self._counted.get(session_id)


class DynamoSessions:
    """`ports.conversation.sessions.Sessions` on a DynamoDB table."""

    def __init__(self, table: Table, seen: SessionCache) -> None:
        self._table = table
        self._seen = seen

    def create(self, session: Session) -> Session:
        try:
            self._table.write(
                put_item(session_to_dynamodb_item(CountedSession(session, 0, 1)), item_absent())
            )
        except ConditionFailed as refusal:
            stored = (
                session_from_dynamodb_item(refusal.item).session
                if refusal.item
                else self.get(session.id)
            )
            if (stored.agent_ids, stored.theme) == (session.agent_ids, session.theme):
                return stored
            raise Conflict(
                f"session {session.id!r} exists already with other content",
                field="Idempotency-Key",
                cure="use a new key for a new session",
            ) from None
        return session

    def get(self, session_id: str) -> Session:
        return get_dynamodb_session(self._table, self._seen, session_id).session

    def get_with_access(self, session_id: str) -> tuple[Session, SessionAccess]:
        stored = (dynamodb_session_partition(session_id), HEAD)
        beside = dynamodb_document_key(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
        found = self._table.get_many((stored, beside))
        if stored not in found:
            raise no_session_in_dynamodb_error(session_id)
        session = self._seen.note(session_from_dynamodb_item(found[stored])).session
        if beside not in found:
            return session, SessionAccess()
        return session, document_from_item(found[beside]).read(SessionAccess)

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        keys = page_of_dynamodb_items(self._table, LIST, f"SESSION#{after or ''}", limit)
        found = self._table.get_many([(pk, HEAD) for pk in keys])
        counted = (
            session_from_dynamodb_item(found[pk, HEAD]) for pk in keys if (pk, HEAD) in found
        )
        return tuple(one.session for one in counted)

    def set_participants(
        self, session_id: str, agent_ids: tuple[str, ...], now: datetime
    ) -> Session:
        def seated(session: Session) -> Session:
            same = session.agent_ids == agent_ids and session.status is SessionStatus.ACTIVE
            return session if same else session.with_participants(agent_ids, now)

        return self._changed(session_id, seated)

    def rename(self, session_id: str, name: str | None) -> Session:
        def named(session: Session) -> Session:
            return session if session.name == name else session.replaced(name=name)

        return self._changed(session_id, named)

    def end(self, session_id: str, now: datetime) -> Session:
        def ended(session: Session) -> Session:
            return session if session.status is SessionStatus.ENDED else session.with_end(now)

        return self._changed(session_id, ended)

    def _changed(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        for _ in range(ATTEMPTS):
            known = get_dynamodb_session(self._table, self._seen, session_id)
            session = change(known.session)
            if session is known.session:
                return session
            after = known.grown(0, session)
            try:
                self._table.write(dynamodb_session_update(known, after))
            except ConditionFailed:
                continue
            return self._seen.note(after).session
        raise busy_dynamodb_session(session_id)


def session_to_dynamodb_item(counted: CountedSession) -> Item:
    """Serialize a session and its counts to an item."""
    return SCHEMA.encode_item(
        dynamodb_session_partition(counted.session.id), HEAD, _fields(counted)
    )


def session_from_dynamodb_item(item: Item) -> CountedSession:
    """Deserialize a session and its counts from an item."""
    fields = SCHEMA.decode_item(item)
    session = Session.from_stored(fields["body"])
    if waiting := fields.get("unanswered"):
        session = session.replaced(unanswered=decode_messages_left_unanswered(waiting))
    return CountedSession(session, fields["lines"], fields["version"], fields.get("redactions", 0))


def get_dynamodb_session(table: Table, seen: SessionCache, session_id: str) -> CountedSession:
    """Read a session with its counts; raise NotFound."""
    item = table.get(dynamodb_session_partition(session_id), HEAD)
    if item is None:
        raise no_session_in_dynamodb_error(session_id)
    return seen.note(session_from_dynamodb_item(item))


def dynamodb_session_update(known: CountedSession, after: CountedSession) -> Write:
    """Return the update of changed attributes, on condition that the version is the known one."""
    fields = _fields(after)
    before = _fields(known)
    changed = {name: value for name, value in fields.items() if before[name] != value}
    # Every change counts the version on, appended lines among them: one condition for all that is
    # known. What newer code wrote is left to it.
    condition = join_dynamodb_conditions(
        Path("version") == known.version, Path("schema") <= SCHEMA.version
    )
    return update_item(
        dynamodb_session_partition(known.session.id),
        HEAD,
        dynamodb_attribute_changes(changed),
        condition,
    )


def dynamodb_session_partition(session_id: str) -> str:
    """Return the partition key of a session and its lines."""
    return f"SESSION#{session_id}"


def no_session_in_dynamodb_error(session_id: str) -> NotFound:
    """Return the error for a session that does not exist."""
    return NotFound(f"there is no session {session_id!r}", cure="list them with GET /api/sessions")


def busy_dynamodb_session(session_id: str) -> Unavailable:
    """Return the error for too many concurrent updates of one session."""
    return Unavailable(
        f"session {session_id!r} has too many concurrent updates; retries exhausted",
        cure="try again in a few seconds",
    )


def _fields(counted: CountedSession) -> dict[str, str | int]:
    session = counted.session
    return {
        "body": session.without_defaults(),
        "lines": counted.lines,
        "version": counted.version,
        "redactions": counted.redactions,
        "unanswered": encode_messages_left_unanswered(session.unanswered),
        "list": f"{LIST}#{item_shard(dynamodb_session_partition(session.id))}",
    }
