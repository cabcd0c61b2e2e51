"""Agents and sessions on SQLite."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from opencrab.adapters.sqlite.database import AlreadyThere, Database, ItemRow, Place, WriteBatch
from opencrab.adapters.sqlite.documents import MIND_KEY, sqlite_document_key
from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import (
    decode_messages_left_unanswered,
    encode_messages_left_unanswered,
)
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Conflict, NotFound

_PAGE = """
    SELECT pk, sk, body FROM item WHERE pk IN (
        SELECT pk FROM item WHERE listing='agent' AND pk>? ORDER BY pk LIMIT ?
    ) AND sk>='A' AND sk<'Z' ORDER BY pk, sk
"""
_AGENT, _SOUL, _IDENTITY = "A", "SOUL", "IDENTITY"
_UNANSWERED = "UNANSWERED"
_TIMES = {"created_at", "updated_at"}


class SqliteAgents:
    """`ports.agents.Agents` on one SQLite file: three items per agent in one partition."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, profile: Profile) -> Profile:
        with self._database.write_transaction() as items:
            if items.get(f"AGENT#{profile.agent.id}", _AGENT) is None:
                items.add(*_rows(profile.agent, profile.soul, profile.identity))
                return profile
        stored = self.get(profile.agent.id)
        if _shape(stored) != _shape(profile):
            raise Conflict(
                f"agent {profile.agent.id!r} exists already with other content",
                field="Idempotency-Key",
                cure="use a new key for a new agent",
            )
        return stored

    def get(self, agent_id: str) -> Profile:
        with self._database.read_transaction() as items:
            parts = dict(items.between(f"AGENT#{agent_id}", "A", "Z"))
        if _AGENT not in parts:
            raise NotFound(f"there is no agent {agent_id!r}", cure="list them with GET /api/agents")
        mind = Document.from_stored(parts[MIND_KEY]).read(AgentState) if MIND_KEY in parts else None
        return Profile.read(parts[_AGENT], parts[_SOUL], parts[_IDENTITY], mind)

    def names(self, agent_ids: Iterable[str]) -> dict[str, str]:
        places = {(f"AGENT#{each}", _IDENTITY): each for each in agent_ids}
        with self._database.read_transaction() as items:
            found = items.get_many(tuple(places))
        return {places[place]: Identity.from_stored(body).name for place, body in found.items()}

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        with self._database.read_transaction() as items:
            rows = items.execute(_PAGE, (f"AGENT#{after or ''}", limit)).fetchall()
        partitions: dict[str, dict[str, str]] = {}
        for pk, sk, body in rows:
            partitions.setdefault(pk, {})[sk] = body
        return tuple(
            Profile.read(parts[_AGENT], parts[_SOUL], parts[_IDENTITY])
            for parts in partitions.values()
        )

    def save(
        self, agent: Agent, *, soul: Soul | None = None, identity: Identity | None = None
    ) -> Agent:
        with self._database.write_transaction() as items:
            body = items.get(f"AGENT#{agent.id}", _AGENT)
            if body is None:
                raise NotFound(
                    f"there is no agent {agent.id!r}", cure="list them with GET /api/agents"
                )
            stored = Agent.from_stored(body)
            if stored.version != agent.version:
                raise Conflict(
                    f"agent {agent.id!r} was changed concurrently "
                    f"(version {stored.version}, not {agent.version})",
                    cure="load it again and repeat the change",
                )
            saved = agent.replaced(version=agent.version + 1)
            items.write(WriteBatch(put=_rows(saved, soul, identity)))
            return saved


class SqliteSessions:
    """`ports.conversation.sessions.Sessions` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, session: Session) -> Session:
        row = sqlite_session_row(session)
        with self._database.write_transaction() as items:
            try:
                items.add(row)
            except AlreadyThere:
                stored = Session.read(session.id, items.get(row.pk, row.sk))
                if (stored.agent_ids, stored.theme) == (session.agent_ids, session.theme):
                    return stored
                raise Conflict(
                    f"session {session.id!r} exists already with other content",
                    field="Idempotency-Key",
                    cure="use a new key for a new session",
                ) from None
        return session

    def get(self, session_id: str) -> Session:
        places = sqlite_session_places(session_id)
        with self._database.read_transaction() as items:
            found = items.get_many(places)
        return session_of_sqlite_rows(session_id, found)

    def get_with_access(self, session_id: str) -> tuple[Session, SessionAccess]:
        stored = (f"SESSION#{session_id}", "S")
        beside = sqlite_document_key(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
        with self._database.read_transaction() as items:
            found = items.get_many((stored, beside))
        session = Session.read(session_id, found.get(stored))
        if beside not in found:
            return session, SessionAccess()
        return session, Document.from_stored(found[beside]).read(SessionAccess)

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_listing("session", after=f"SESSION#{after or ''}", limit=limit)
        return tuple(Session.from_stored(body) for body in bodies)

    def set_participants(
        self, session_id: str, agent_ids: tuple[str, ...], now: datetime
    ) -> Session:
        with self._database.write_transaction() as items:
            session = Session.read(session_id, items.get(f"SESSION#{session_id}", "S"))
            if session.agent_ids != agent_ids or session.status is SessionStatus.ENDED:
                session = session.with_participants(agent_ids, now)
                items.write(WriteBatch(put=[sqlite_session_row(session)]))
            return session

    def rename(self, session_id: str, name: str | None) -> Session:
        with self._database.write_transaction() as items:
            session = Session.read(session_id, items.get(f"SESSION#{session_id}", "S"))
            if session.name != name:
                session = session.replaced(name=name)
                items.write(WriteBatch(put=[sqlite_session_row(session)]))
            return session

    def end(self, session_id: str, now: datetime) -> Session:
        with self._database.write_transaction() as items:
            session = Session.read(session_id, items.get(f"SESSION#{session_id}", "S"))
            if session.status is SessionStatus.ENDED:
                return session
            session = session.with_end(now)
            items.write(WriteBatch(put=[sqlite_session_row(session)]))
            return session


def _shape(profile: Profile) -> dict[str, object]:
    return profile.model_dump(exclude={"agent": _TIMES | {"version"}, "mind": True})


def _rows(agent: Agent, soul: Soul | None, identity: Identity | None) -> list[ItemRow]:
    pk = f"AGENT#{agent.id}"
    rows = [ItemRow(pk, _AGENT, agent.to_stored(), listing="agent")]
    if soul is not None:
        rows.append(ItemRow(pk, _SOUL, soul.to_stored()))
    if identity is not None:
        rows.append(ItemRow(pk, _IDENTITY, identity.to_stored()))
    return rows


def sqlite_session_places(session_id: str) -> tuple[Place, Place]:
    """Return the keys of a session and of its unanswered messages."""
    return (f"SESSION#{session_id}", "S"), (f"SESSION#{session_id}", _UNANSWERED)


def session_of_sqlite_rows(session_id: str, stored: Mapping[Place, str]) -> Session:
    """Parse a session with its unanswered messages; raise NotFound."""
    body, waiting = (stored.get(place) for place in sqlite_session_places(session_id))
    session = Session.read(session_id, body)
    return (
        session.replaced(unanswered=decode_messages_left_unanswered(waiting))
        if waiting
        else session
    )


def active_session_of_sqlite_rows(
    session_id: str, stored: Mapping[Place, str], *, after_end: bool = False
) -> Session:
    """Parse a session as `session_of_sqlite_rows`; raise Conflict if it has ended."""
    session = session_of_sqlite_rows(session_id, stored)
    if session.status is SessionStatus.ENDED and not after_end:
        raise Conflict(f"session {session_id!r} has ended", cure="create a new session")
    return session


def add_sqlite_unanswered_messages(batch: WriteBatch, before: Session, after: Session) -> None:
    """Add the write of a session's unanswered messages if they have changed."""
    if after.unanswered == before.unanswered:
        return
    _, place = sqlite_session_places(after.id)
    if after.unanswered:
        batch.put.append(ItemRow(*place, encode_messages_left_unanswered(after.unanswered)))
    else:
        batch.removed.append(place)


def sqlite_session_row(session: Session) -> ItemRow:
    """Serialize a session to an item row."""
    body = session.without_defaults()
    return ItemRow(f"SESSION#{session.id}", "S", body, listing="session", room=1)
