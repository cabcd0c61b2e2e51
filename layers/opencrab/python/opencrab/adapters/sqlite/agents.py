"""Agents and sessions on SQLite."""

from collections.abc import Mapping
from datetime import datetime

from opencrab.adapters.sqlite.database import AlreadyThere, Batch, Database, Row
from opencrab.adapters.sqlite.documents import MIND_KEY
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.agent_state import Mind
from opencrab.domain.agents.identity import Identity
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Fact
from opencrab.domain.errors import Conflict, NotFound

_PAGE = """
    SELECT pk, sk, body FROM item WHERE pk IN (
        SELECT pk FROM item WHERE listing='agent' AND pk>? ORDER BY pk LIMIT ?
    ) AND sk>='A' AND sk<'Z' ORDER BY pk, sk
"""
_TIMES = {"created_at", "updated_at"}


class SqliteAgents:
    """`ports.agents.Agents` on one file: three items in one partition, beside the mind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, profile: Profile) -> Profile:
        with self._database.writing() as items:
            parts = items.between(f"AGENT#{profile.agent.id}", "A", "Z")
            stored = _profile(dict(parts))
            if stored is None:
                items.add(*_rows(profile.agent, profile.soul, profile.identity))
                return profile
        if _shape(stored) != _shape(profile):
            raise Conflict(
                f"agent {profile.agent.id!r} exists already with other content",
                field="Idempotency-Key",
                cure="use a new key for a new agent",
            )
        return stored

    def get(self, agent_id: str) -> Profile:
        with self._database.reading() as items:
            parts = items.between(f"AGENT#{agent_id}", "A", "Z")
        profile = _profile(dict(parts))
        if profile is None:
            raise NotFound(f"there is no agent {agent_id!r}", cure="list them with GET /api/agents")
        return profile

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        with self._database.reading() as items:
            rows = items.execute(_PAGE, (f"AGENT#{after or ''}", limit)).fetchall()
        partitions: dict[str, dict[str, str]] = {}
        for pk, sk, body in rows:
            partitions.setdefault(pk, {})[sk] = body
        profiles = (_profile(parts) for parts in partitions.values())
        return tuple(one.replaced(mind=Mind()) for one in profiles if one is not None)

    def save(
        self, agent: Agent, *, soul: Soul | None = None, identity: Identity | None = None
    ) -> Agent:
        with self._database.writing() as items:
            parts = items.between(f"AGENT#{agent.id}", "A", "Z")
            stored = _profile(dict(parts))
            if stored is None:
                raise NotFound(f"there is no agent {agent.id!r}")
            if stored.agent.version != agent.version:
                raise Conflict(
                    f"agent {agent.id!r} was changed meanwhile "
                    f"(version {stored.agent.version}, not {agent.version})",
                    cure="load it again and repeat the change",
                )
            saved = agent.replaced(version=agent.version + 1)
            items.write(Batch(put=_rows(saved, soul, identity)))
            return saved


class SqliteSessions:
    """`ports.sessions.Sessions` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, session: Session) -> Session:
        with self._database.writing() as items:
            try:
                items.add(session_row(session))
            except AlreadyThere:
                stored = stored_session(session.id, items.get(f"SESSION#{session.id}", "S"))
                if (stored.agent_ids, stored.theme) == (session.agent_ids, session.theme):
                    return stored
                raise Conflict(
                    f"session {session.id!r} exists already with other content",
                    field="Idempotency-Key",
                    cure="use a new key for a new session",
                ) from None
        return session

    def get(self, session_id: str) -> Session:
        with self._database.reading() as items:
            body = items.get(f"SESSION#{session_id}", "S")
        return stored_session(session_id, body)

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        with self._database.reading() as items:
            bodies = items.listed("session", after=f"SESSION#{after or ''}", limit=limit)
        return tuple(Session.model_validate_json(body) for body in bodies)

    def seat(self, session_id: str, agent_ids: tuple[str, ...], now: datetime) -> Session:
        with self._database.writing() as items:
            session = stored_session(session_id, items.get(f"SESSION#{session_id}", "S"))
            if session.agent_ids != agent_ids or session.status is SessionStatus.ENDED:
                session = session.seated(agent_ids, now)
                items.write(Batch(put=[session_row(session)]))
            return session

    def end(self, session_id: str, now: datetime) -> Session:
        with self._database.writing() as items:
            session = stored_session(session_id, items.get(f"SESSION#{session_id}", "S"))
            if session.status is SessionStatus.ENDED:
                return session
            session = session.ended(now)
            items.write(Batch(put=[session_row(session)]))
            return session


def _shape(profile: Profile) -> dict[str, object]:
    return profile.model_dump(exclude={"agent": _TIMES | {"version"}, "mind": True})


def _profile(parts: Mapping[str, str]) -> Profile | None:
    if "A" not in parts:
        return None
    mind = parts.get(MIND_KEY)
    return Profile(
        agent=Agent.model_validate_json(parts["A"]),
        identity=Identity.model_validate_json(parts["IDENTITY"]),
        soul=Soul.model_validate_json(parts["SOUL"]),
        mind=Mind() if mind is None else Fact.model_validate_json(mind).read(Mind),
    )


def _rows(agent: Agent, soul: Soul | None, identity: Identity | None) -> list[Row]:
    pk = f"AGENT#{agent.id}"
    rows = [Row(pk, "A", agent.model_dump_json(), listing="agent")]
    if soul is not None:
        rows.append(Row(pk, "SOUL", soul.model_dump_json()))
    if identity is not None:
        rows.append(Row(pk, "IDENTITY", identity.model_dump_json()))
    return rows


def stored_session(session_id: str, body: str | None) -> Session:
    """A session from its body; raises NotFound where there is none."""
    if body is None:
        raise NotFound(f"there is no session {session_id!r}")
    return Session.model_validate_json(body)


def session_row(session: Session) -> Row:
    """A session as it is kept."""
    return Row(f"SESSION#{session.id}", "S", session.model_dump_json(), listing="session")
