"""WebSocket connections, the tickets that open them, and the sessions that they watch.

Many short-lived functions serve one connection, so that all its state is stored in documents. None
of them contains a key, only its hash; revoking the key closes the connections that it opened.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Literal

from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import Line
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Exhausted, Unauthenticated, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Language, Value
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.conversation.live import (
    LiveStart,
    VisibleKinds,
    WatchTarget,
    collect_visible_session_lines,
    live_session_start,
    too_many_watched_conversations_error,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages

CONNECTION, TICKET = "connection", "ticket"
OPENED = "opened"
"""The kind of document that lists the open connections of a key, owned by the key's hash."""

WATCHERS = {"session": "session_watcher", "agent": "agent_watcher"}

TICKET_LIVES = timedelta(seconds=60)
CONNECTION_LIVES = timedelta(hours=2)
"""The lifetime of a connection: API Gateway closes each after two hours, and so do we."""

MOST_WATCHED = 50
MOST_OPENED = 20
"""The most open connections of one key; each is one document."""

MOST_MESSAGES = 30
WINDOW_SECONDS = 10
"""A client that sends more than MOST_MESSAGES within this many seconds is disconnected."""

PAUSES = (0.02, 0.04, 0.06, 0.08, 0.1, *(0.15,) * 12)
"""The longest pause in seconds before each retry after a conflict: some 2 s in all."""

_PAGE = 100
_BATCH = 100
_AT_ONCE = 20
_CURE = "ask for a new one with POST /api/tickets, and use it within a minute, once"


class ConnectionTicket(Value):
    """A ticket's content: the hash of the key that it was issued for."""

    key: str


class OpenConnection(Value):
    """The mark of one open connection of a key; the document's id names the connection."""


class Connection(Value):
    """A connection: its key's hash, what it watches, and its message count since a time.

    Its errors are told in `language`.
    """

    key: str
    watches: tuple[WatchTarget, ...] = ()
    said: int = 0
    since: datetime
    language: Language = Language.EN


class ConnectionWatcher(Value):
    """A watch of one connection; `place` is the last line that was sent to it."""

    key: str
    visible: VisibleKinds = VisibleKinds()
    place: int = 0


class Flooding(Exhausted):
    """The error for too many messages in too short a time; the connection is closed."""


Pause = Callable[[float], object]
"""Waits for some seconds."""


def _at_once(_seconds: float) -> None:
    """Retry without a pause."""


def issue_websocket_ticket(runtime: Runtime, key: str) -> tuple[str, datetime]:
    """Create a ticket that opens one connection; return it with its expiry."""
    secret = runtime.clock.secret()
    expires = runtime.clock.now() + TICKET_LIVES
    fact = new_fact(
        INSTALLATION_FACTS,
        TICKET,
        content_hash(secret.encode()),
        ConnectionTicket(key=key),
        expires_at=expires,
    )
    runtime.home.facts.commit(fact)
    return secret, expires


def redeem_websocket_ticket(runtime: Runtime, secret: str) -> str:
    """Consume a ticket and return its key's hash; raise Unauthenticated the second time."""
    digest = content_hash(secret.encode())
    fact = runtime.home.facts.get(INSTALLATION_FACTS, TICKET, digest)
    if fact is None or _is_over(fact, runtime.clock.now()):
        raise Unauthenticated("this ticket is unknown, used or too old", field="ticket", cure=_CURE)
    try:
        runtime.home.facts.commit(fact.removed())
    except Changed:
        raise Unauthenticated("this ticket was already used", field="ticket", cure=_CURE) from None
    return fact.read(ConnectionTicket).key


def open_websocket_connection(
    runtime: Runtime, connection_id: str, key: str, language: Language = Language.EN
) -> Principal:
    """Store a new connection for as long as one may last; return its principal.

    Raises Unauthenticated, and Exhausted when the key has too many connections; concurrent calls
    may exceed the limit by a few.
    """
    principal, now = conversation_connection_holder(runtime.home.keys, key), runtime.clock.now()
    place, expires = websocket_connection_fact_id(connection_id), now + CONNECTION_LIVES
    opened = runtime.home.facts.page(key, OPENED, limit=_PAGE)
    if sum(each.id != place and not _is_over(each, now) for each in opened) >= MOST_OPENED:
        raise Exhausted(
            f"limit reached: this key has {MOST_OPENED} connections open",
            cure="close one, or watch more sessions over each",
        )
    connection = Connection(key=key, since=now, language=language)
    facts = (
        new_fact(INSTALLATION_FACTS, CONNECTION, place, connection, expires_at=expires),
        new_fact(key, OPENED, place, OpenConnection(), expires_at=expires),
    )
    # The same request may come twice; nobody else can have this id.
    runtime.home.facts.commit(*(fact.replaced(version=0) for fact in facts))
    return principal


def close_websocket_connection(facts: Documents, connection_id: str) -> None:
    """Delete a connection and all its watches."""
    fact = _connection_fact(facts, connection_id)
    if fact is None:
        return
    connection, key = fact.read(Connection), websocket_connection_fact_id(connection_id)
    gone = [_deletion_fact(each.id, WATCHERS[each.kind], key) for each in connection.watches]
    gone.append(_deletion_fact(connection.key, OPENED, key))
    gone.append(_deletion_fact(INSTALLATION_FACTS, CONNECTION, key))
    for begin in range(0, len(gone), _AT_ONCE):
        facts.commit(*gone[begin : begin + _AT_ONCE])


def websocket_connection_language(facts: Documents, connection_id: str) -> Language:
    """Return the language of a connection, English for one that is gone or cannot be read now."""
    try:
        fact = _connection_fact(facts, connection_id)
    except Unavailable:
        return Language.EN
    return Language.EN if fact is None else fact.read(Connection).language


def count_websocket_connection_message(
    runtime: Runtime, connection_id: str, pause: Pause = _at_once
) -> Principal:
    """Count a message received on a connection, and return the connection's principal.

    Raises Unauthenticated for a connection that is unknown or closed, or whose key was revoked,
    Flooding, and Unavailable when too many messages arrive at once.
    """

    def counted(connection: Connection) -> Connection:
        now = runtime.clock.now()
        if (now - connection.since).total_seconds() >= WINDOW_SECONDS:
            return connection.replaced(said=1, since=now)
        if connection.said >= MOST_MESSAGES:
            raise websocket_flooding_error()
        return connection.replaced(said=connection.said + 1)

    return conversation_connection_holder(
        runtime.home.keys, _update_connection(runtime, connection_id, counted, pause=pause).key
    )


def start_websocket_watch(
    runtime: Runtime,
    connection_id: str,
    watched: WatchTarget,
    visible: VisibleKinds,
    after: int | None,
    *,
    pause: Pause = _at_once,
) -> LiveStart:
    """Let a connection watch a session or an agent, replacing its earlier watch of the same.

    Raises NotFound, Invalid, Refused when it has too many watches, and Unavailable.
    """
    begun = live_session_start(runtime, watched, after)

    def added(connection: Connection) -> Connection:
        if watched in connection.watches:
            return connection
        if len(connection.watches) >= MOST_WATCHED:
            raise too_many_watched_conversations_error(MOST_WATCHED)
        return connection.replaced(watches=(*connection.watches, watched))

    def beside(connection: Document) -> Document:
        key = connection.read(Connection).key
        made = new_fact(
            watched.id,
            WATCHERS[watched.kind],
            websocket_connection_fact_id(connection_id),
            ConnectionWatcher(key=key, visible=visible, place=begun.place),
            expires_at=connection.expires_at,
        )
        return made.replaced(version=0)

    _update_connection(runtime, connection_id, added, beside, pause=pause)
    return begun


def end_websocket_watch(
    runtime: Runtime, connection_id: str, watched: WatchTarget, pause: Pause = _at_once
) -> bool:
    """End a connection's watch; return whether it existed. Raises Unavailable."""
    was = False

    def without(connection: Connection) -> Connection:
        nonlocal was
        was = watched in connection.watches
        rest = tuple(each for each in connection.watches if each != watched)
        return connection.replaced(watches=rest)

    def beside(_connection: Document) -> Document:
        return _deletion_fact(
            watched.id, WATCHERS[watched.kind], websocket_connection_fact_id(connection_id)
        )

    _update_connection(runtime, connection_id, without, beside, pause=pause)
    return was


def websocket_watchers(runtime: Runtime, watched: WatchTarget) -> Iterator[Document]:
    """Return the watchers of a session or an agent whose connection has not expired."""
    now, known = (
        runtime.clock.now(),
        all_pages(runtime.home.facts, watched.id, WATCHERS[watched.kind]),
    )
    return (fact for fact in known if not _is_over(fact, now))


def claim_lines_for_websocket(home: Home, session_id: str, watcher: Document) -> Iterator[Line]:
    """Yield the lines of a session that a watcher has not received, after claiming them.

    Several functions may serve the same watcher at once: the claim gives each line to one of them.
    A caller that cannot deliver a claimed line must close the connection, so that its client
    reconnects and names the last line it saw.
    """
    fact: Document | None = watcher
    while fact is not None:
        state = fact.read(ConnectionWatcher)
        lines, place = collect_visible_session_lines(
            home.journal, session_id, state.visible, after=state.place, limit=_BATCH
        )
        reached = place or (lines[-1].sequence if lines else state.place)
        if reached == state.place:
            return
        claimed = fact.with_body(state.replaced(place=reached))
        try:
            home.facts.commit(claimed)
        except Changed:
            fact = home.facts.get(*fact.key)
            continue
        yield from lines
        fact = None if place is None else claimed


def websocket_flooding_error() -> Flooding:
    """Return the error sent to a client before it is disconnected for flooding."""
    return Flooding(
        f"more than {MOST_MESSAGES} messages in {WINDOW_SECONDS} s",
        cure="connect again, and send less",
    )


def websocket_connection_fact_id(connection_id: str) -> str:
    """Return a connection's id in documents: API Gateway's ids have characters ours may not."""
    return connection_id.encode().hex()


def websocket_watch_target(watcher: Document) -> WatchTarget:
    """Return what a watcher watches."""
    kind: Literal["session", "agent"] = (
        "session" if watcher.kind == WATCHERS["session"] else "agent"
    )
    return WatchTarget(kind=kind, id=watcher.owner)


def websocket_connection_id(fact: Document) -> str:
    """Return the id of the connection that a document belongs to."""
    return bytes.fromhex(fact.id).decode()


def _update_connection(
    runtime: Runtime,
    connection_id: str,
    change: Callable[[Connection], Connection],
    beside: Callable[[Document], Document] | None = None,
    *,
    pause: Pause,
) -> Connection:
    """Change a connection and write one more document with it; retry when others write.

    Raises Unauthenticated for a closed connection, and Unavailable after the last retry.
    """
    for seconds in (*PAUSES, None):
        fact = _connection_fact(runtime.home.facts, connection_id)
        if fact is None or _is_over(fact, runtime.clock.now()):
            raise Unauthenticated("this connection is closed", cure="connect again")
        changed = change(fact.read(Connection))
        also = () if beside is None else (beside(fact),)
        try:
            runtime.home.facts.commit(fact.with_body(changed), *also)
        except Changed:
            if seconds is not None:
                pause(seconds * (0.5 + _chance(runtime.clock)))
            continue
        return changed
    raise Unavailable(
        "too many concurrent messages over this connection", cure="send the message again"
    )


def _chance(clock: Clock) -> float:
    """Return a random number from 0 to 0.5, so that colliding callers retry at different times."""
    return int(content_hash(clock.secret().encode())[-4:], 16) / 0x20000


def _connection_fact(facts: Documents, connection_id: str) -> Document | None:
    return facts.get(INSTALLATION_FACTS, CONNECTION, websocket_connection_fact_id(connection_id))


def _deletion_fact(owner: str, kind: str, fact_id: str) -> Document:
    return Document(owner=owner, kind=kind, id=fact_id, version=0, body=None)


def _is_over(fact: Document, now: datetime) -> bool:
    return fact.expires_at is not None and fact.expires_at <= now
