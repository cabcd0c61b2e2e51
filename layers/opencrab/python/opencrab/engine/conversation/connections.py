"""Connections: who is connected to be told what happens, and the tickets by which they came.

Where many short-lived functions serve one connection, all that is known of it lies in facts. None
of them holds a key: a hash says which one it was, and whoever revokes that key ends what it opened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import Line
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Exhausted, Unauthenticated, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Value
from opencrab.engine.conversation.live import (
    LiveStart,
    VisibleKinds,
    WatchTarget,
    collect_visible_lines,
    live_start,
    too_many_watched_sessions_error,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.access.keys import Keys
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages

CONNECTION, TICKET = "connection", "ticket"
OPENED = "opened"
"""What a key opened: one fact for each connection, owned by the key's hash."""

WATCHERS = {"session": "session_watcher", "agent": "agent_watcher"}

TICKET_LIVES = timedelta(seconds=60)
CONNECTION_LIVES = timedelta(hours=2)
"""API Gateway ends every connection after two hours; ours end then everywhere."""

MOST_WATCHED = 50
MOST_OPENED = 20
"""Connections of one key at a time, where each of them is a fact."""

MOST_MESSAGES = 30
WINDOW_SECONDS = 10
"""Whoever sends more than MOST_MESSAGES within so many seconds is cut."""

KEY_BELIEVED = timedelta(seconds=45)
"""How long a key is taken to be as it was: with a look each 15 s that is a minute at most."""

PAUSES = (0.02, 0.04, 0.06, 0.08, 0.1, *(0.15,) * 12)
"""Seconds to wait, at most, before each new try after a conflict: some 2 s in all."""

_PAGE = 100
_BATCH = 100
_AT_ONCE = 20
_CURE = "ask for a new one with POST /api/tickets, and use it within a minute, once"


class ConnectionTicket(Value):
    """What a ticket stands for: the key of whoever asked for it, by its hash."""

    key: str


class OpenConnection(Value):
    """One of a key's connections; its id says which."""


class Connection(Value):
    """One connection: by which key, what it watches, and how much it said since a moment."""

    key: str
    watches: tuple[WatchTarget, ...] = ()
    said: int = 0
    since: datetime


class ConnectionWatcher(Value):
    """One thing that a connection watches; `place` is the last line of it that was told."""

    key: str
    visible: VisibleKinds = VisibleKinds()
    place: int = 0


class Flooding(Exhausted):
    """Somebody says too much in too short a time; the connection is cut."""


Pause = Callable[[float], object]
"""Lets some seconds pass."""


def _at_once(_seconds: float) -> None:
    """No pause."""


@dataclass
class KeyHolders:
    """Whose keys these are, asked for again when what is known is too old."""

    runtime: Runtime
    known: dict[str, tuple[Principal, datetime]] = field(default_factory=dict)

    def get(self, key: str) -> Principal:
        """The holder of a key; raises Unauthenticated when it was revoked, soon after that."""
        now = self.runtime.clock.now()
        found = self.known.get(key)
        if found is None or now - found[1] >= KEY_BELIEVED:
            self.known.pop(key, None)
            found = self.known[key] = (
                connection_holder_of_key_hash(self.runtime.home.keys, key),
                now,
            )
        return found[0]


def connection_holder_of_key_hash(keys: Keys, key: str) -> Principal:
    """Who holds the key with this hash; raises Unauthenticated when nobody does any more."""
    found = keys.find(key)
    if found is None or found.revoked_at is not None:
        raise Unauthenticated(
            "this API key is unknown or revoked", cure="send a valid key, or create a new one"
        )
    return Principal(id=found.id, name=found.name, scope=found.scope)


def issue_connection_ticket(runtime: Runtime, key: str) -> tuple[str, datetime]:
    """A ticket for the holder of a key, and when it lapses; it opens one connection."""
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


def redeem_connection_ticket(runtime: Runtime, secret: str) -> str:
    """The hash of the key that a ticket stands for; raises Unauthenticated the second time."""
    digest = content_hash(secret.encode())
    fact = runtime.home.facts.get(INSTALLATION_FACTS, TICKET, digest)
    if fact is None or _is_over(fact, runtime.clock.now()):
        raise Unauthenticated("this ticket is unknown, used or too old", field="ticket", cure=_CURE)
    try:
        runtime.home.facts.commit(fact.removed())
    except Changed:
        raise Unauthenticated("this ticket was already used", field="ticket", cure=_CURE) from None
    return fact.read(ConnectionTicket).key


def open_connection(runtime: Runtime, connection_id: str, key: str) -> Principal:
    """Remember a new connection for as long as one may last.

    Raises Unauthenticated, and Exhausted when the key has too many; a few may slip in at once.
    """
    principal, now = connection_holder_of_key_hash(runtime.home.keys, key), runtime.clock.now()
    place, expires = connection_fact_id(connection_id), now + CONNECTION_LIVES
    opened = runtime.home.facts.page(key, OPENED, limit=_PAGE)
    if sum(each.id != place and not _is_over(each, now) for each in opened) >= MOST_OPENED:
        raise Exhausted(
            f"this key has {MOST_OPENED} connections open",
            cure="close one, or watch more sessions over each",
        )
    connection = Connection(key=key, since=now)
    facts = (
        new_fact(INSTALLATION_FACTS, CONNECTION, place, connection, expires_at=expires),
        new_fact(key, OPENED, place, OpenConnection(), expires_at=expires),
    )
    # The same request may come twice; nobody else can have this id.
    runtime.home.facts.commit(*(fact.replaced(version=0) for fact in facts))
    return principal


def close_connection(facts: Documents, connection_id: str) -> None:
    """Forget a connection and all that it watches."""
    fact = _connection_fact(facts, connection_id)
    if fact is None:
        return
    connection, key = fact.read(Connection), connection_fact_id(connection_id)
    gone = [_deletion_fact(each.id, WATCHERS[each.kind], key) for each in connection.watches]
    gone.append(_deletion_fact(connection.key, OPENED, key))
    gone.append(_deletion_fact(INSTALLATION_FACTS, CONNECTION, key))
    for begin in range(0, len(gone), _AT_ONCE):
        facts.commit(*gone[begin : begin + _AT_ONCE])


def count_connection_message(
    runtime: Runtime, connection_id: str, pause: Pause = _at_once
) -> Principal:
    """Who says something over a connection, which is counted.

    Raises Unauthenticated for a connection that nobody opened or that is over, or whose key was
    revoked, Flooding, and Unavailable when too many say something at once.
    """

    def counted(connection: Connection) -> Connection:
        now = runtime.clock.now()
        if (now - connection.since).total_seconds() >= WINDOW_SECONDS:
            return connection.replaced(said=1, since=now)
        if connection.said >= MOST_MESSAGES:
            raise connection_flooding_error()
        return connection.replaced(said=connection.said + 1)

    return connection_holder_of_key_hash(
        runtime.home.keys, _update_connection(runtime, connection_id, counted, pause=pause).key
    )


def watch_from_connection(
    runtime: Runtime,
    connection_id: str,
    watched: WatchTarget,
    visible: VisibleKinds,
    after: int | None,
    *,
    pause: Pause = _at_once,
) -> LiveStart:
    """Tell a connection from now on what happens in something; watching it anew replaces that.

    Raises NotFound, Invalid, Refused when it is one too many, and Unavailable.
    """
    begun = live_start(runtime, watched, after)

    def added(connection: Connection) -> Connection:
        if watched in connection.watches:
            return connection
        if len(connection.watches) >= MOST_WATCHED:
            raise too_many_watched_sessions_error(MOST_WATCHED)
        return connection.replaced(watches=(*connection.watches, watched))

    def beside(connection: Document) -> Document:
        key = connection.read(Connection).key
        made = new_fact(
            watched.id,
            WATCHERS[watched.kind],
            connection_fact_id(connection_id),
            ConnectionWatcher(key=key, visible=visible, place=begun.place),
            expires_at=connection.expires_at,
        )
        return made.replaced(version=0)

    _update_connection(runtime, connection_id, added, beside, pause=pause)
    return begun


def unwatch_from_connection(
    runtime: Runtime, connection_id: str, watched: WatchTarget, pause: Pause = _at_once
) -> bool:
    """Tell a connection no more of something; whether it was told before. Raises Unavailable."""
    was = False

    def without(connection: Connection) -> Connection:
        nonlocal was
        was = watched in connection.watches
        rest = tuple(each for each in connection.watches if each != watched)
        return connection.replaced(watches=rest)

    def beside(_connection: Document) -> Document:
        return _deletion_fact(watched.id, WATCHERS[watched.kind], connection_fact_id(connection_id))

    _update_connection(runtime, connection_id, without, beside, pause=pause)
    return was


def session_watchers_of(runtime: Runtime, watched: WatchTarget) -> Iterator[Document]:
    """Everybody who watches something and whose connection has not lapsed."""
    now, known = (
        runtime.clock.now(),
        all_pages(runtime.home.facts, watched.id, WATCHERS[watched.kind]),
    )
    return (fact for fact in known if not _is_over(fact, now))


def claim_lines_for_watcher(home: Home, session_id: str, watcher: Document) -> Iterator[Line]:
    """The lines of a session that a watcher has not been told, each claimed before it is told.

    Several functions may tell the same watcher at once: the claim gives each line to one of them.
    Whoever cannot deliver what they claimed has to cut the connection, so that its client comes
    again and names the last line it saw.
    """
    fact: Document | None = watcher
    while fact is not None:
        state = fact.read(ConnectionWatcher)
        lines, place = collect_visible_lines(
            home.journal, session_id, state.visible, after=state.place, limit=_BATCH
        )
        reached = place or (lines[-1].sequence if lines else state.place)
        if reached == state.place:
            return
        claimed = fact.holding(state.replaced(place=reached))
        try:
            home.facts.commit(claimed)
        except Changed:
            fact = home.facts.get(*fact.key)
            continue
        yield from lines
        fact = None if place is None else claimed


def connection_flooding_error() -> Flooding:
    """What somebody is told before they are cut."""
    return Flooding(
        f"more than {MOST_MESSAGES} messages in {WINDOW_SECONDS} s",
        cure="connect again, and send less",
    )


def connection_fact_id(connection_id: str) -> str:
    """The id of a connection's facts: API Gateway's ids have characters that ours may not."""
    return connection_id.encode().hex()


def connection_id_of(fact: Document) -> str:
    """The connection whose fact this is."""
    return bytes.fromhex(fact.id).decode()


def _update_connection(
    runtime: Runtime,
    connection_id: str,
    change: Callable[[Connection], Connection],
    beside: Callable[[Document], Document] | None = None,
    *,
    pause: Pause,
) -> Connection:
    """A connection after a change, written with a fact beside it; tried again when others write."""
    for seconds in (*PAUSES, None):
        fact = _connection_fact(runtime.home.facts, connection_id)
        if fact is None or _is_over(fact, runtime.clock.now()):
            raise Unauthenticated("this connection is closed", cure="connect again")
        changed = change(fact.read(Connection))
        also = () if beside is None else (beside(fact),)
        try:
            runtime.home.facts.commit(fact.holding(changed), *also)
        except Changed:
            if seconds is not None:
                pause(seconds * (0.5 + _chance(runtime.clock)))
            continue
        return changed
    raise Unavailable(
        "too many concurrent messages over this connection", cure="send the message again"
    )


def _chance(clock: Clock) -> float:
    """By chance something from 0 to a half: whoever met once must not meet again."""
    return int(content_hash(clock.secret().encode())[-4:], 16) / 0x20000


def _connection_fact(facts: Documents, connection_id: str) -> Document | None:
    return facts.get(INSTALLATION_FACTS, CONNECTION, connection_fact_id(connection_id))


def _deletion_fact(owner: str, kind: str, fact_id: str) -> Document:
    return Document(owner=owner, kind=kind, id=fact_id, version=0, body=None)


def _is_over(fact: Document, now: datetime) -> bool:
    return fact.expires_at is not None and fact.expires_at <= now
