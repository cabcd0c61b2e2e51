"""Agents and sessions on SQLite."""

from datetime import datetime

from opencrab.adapters.sqlite.database import AlreadyThere, Database, Items
from opencrab.adapters.sqlite.documents import MIND_KEY
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.agent_state import Mind
from opencrab.domain.agents.identity import Identity
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Fact
from opencrab.domain.errors import Conflict, NotFound

_TIMES = {"created_at", "updated_at"}


class SqliteAgents:
    """`ports.agents.Agents` on one file: three items in one partition, beside the mind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, profile: Profile) -> Profile:
        with self._database.writing() as items:
            stored = _profile(items, profile.agent.id)
            if stored is None:
                _put(items, profile.agent, profile.soul, profile.identity, absent=True)
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
            profile = _profile(items, agent_id)
        if profile is None:
            raise NotFound(f"there is no agent {agent_id!r}", cure="list them with GET /api/agents")
        return profile

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        with self._database.reading() as items:
            bodies = items.listed("agent", after=f"AGENT#{after or ''}", limit=limit)
            profiles = [_profile(items, Agent.model_validate_json(body).id) for body in bodies]
        return tuple(one.replaced(mind=Mind()) for one in profiles if one is not None)

    def save(
        self, agent: Agent, *, soul: Soul | None = None, identity: Identity | None = None
    ) -> Agent:
        with self._database.writing() as items:
            stored = _profile(items, agent.id)
            if stored is None:
                raise NotFound(f"there is no agent {agent.id!r}")
            if stored.agent.version != agent.version:
                raise Conflict(
                    f"agent {agent.id!r} was changed meanwhile "
                    f"(version {stored.agent.version}, not {agent.version})",
                    cure="load it again and repeat the change",
                )
            saved = agent.replaced(version=agent.version + 1)
            _put(items, saved, soul, identity)
            return saved


class SqliteSessions:
    """`ports.sessions.Sessions` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, session: Session) -> Session:
        with self._database.writing() as items:
            try:
                _put_session(items, session, absent=True)
            except AlreadyThere:
                stored = _session(items, session.id)
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
            return _session(items, session_id)

    def page(self, *, after: str | None, limit: int) -> tuple[Session, ...]:
        with self._database.reading() as items:
            bodies = items.listed("session", after=f"SESSION#{after or ''}", limit=limit)
        return tuple(Session.model_validate_json(body) for body in bodies)

    def seat(self, session_id: str, agent_ids: tuple[str, ...], now: datetime) -> Session:
        with self._database.writing() as items:
            session = _session(items, session_id)
            if session.agent_ids != agent_ids or session.status is SessionStatus.ENDED:
                session = session.seated(agent_ids, now)
                _put_session(items, session)
            return session

    def end(self, session_id: str, now: datetime) -> Session:
        with self._database.writing() as items:
            session = _session(items, session_id)
            if session.status is SessionStatus.ENDED:
                return session
            session = session.ended(now)
            _put_session(items, session)
            return session


def _shape(profile: Profile) -> dict[str, object]:
    return profile.model_dump(exclude={"agent": _TIMES | {"version"}, "mind": True})


def _profile(items: Items, agent_id: str) -> Profile | None:
    parts = dict(items.between(f"AGENT#{agent_id}", "A", "Z"))
    if "A" not in parts:
        return None
    mind = parts.get(MIND_KEY)
    return Profile(
        agent=Agent.model_validate_json(parts["A"]),
        identity=Identity.model_validate_json(parts["IDENTITY"]),
        soul=Soul.model_validate_json(parts["SOUL"]),
        mind=Mind() if mind is None else Fact.model_validate_json(mind).read(Mind),
    )


def _put(
    items: Items,
    agent: Agent,
    soul: Soul | None,
    identity: Identity | None,
    *,
    absent: bool = False,
) -> None:
    pk = f"AGENT#{agent.id}"
    items.put(pk, "A", agent.model_dump_json(), absent=absent, listing="agent")
    if soul is not None:
        items.put(pk, "SOUL", soul.model_dump_json(), absent=absent)
    if identity is not None:
        items.put(pk, "IDENTITY", identity.model_dump_json(), absent=absent)


def _session(items: Items, session_id: str) -> Session:
    body = items.get(f"SESSION#{session_id}", "S")
    if body is None:
        raise NotFound(f"there is no session {session_id!r}")
    return Session.model_validate_json(body)


def _put_session(items: Items, session: Session, *, absent: bool = False) -> None:
    items.put(
        f"SESSION#{session.id}", "S", session.model_dump_json(), absent=absent, listing="session"
    )
