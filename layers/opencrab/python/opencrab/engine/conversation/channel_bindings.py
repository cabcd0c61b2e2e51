"""Bindings of outside channels, such as Discord channels, to sessions.

The first message of a channel opens its session; starting a new one there ends the one before.
"""

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.channel_binding import PLACE, ChannelBinding
from opencrab.domain.conversation.session import (
    PARTICIPANTS,
    Hearing,
    Mode,
    Participant,
    Session,
    SessionStatus,
    require_seats_left_in_session,
)
from opencrab.domain.discussion.turn_taking import scaled_discussion_hop_limit
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Identifier, Name, ShortText, Value
from opencrab.engine.access.session_access import record_access_of_unknown_people
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.home import Home

_TRIES = 5
_FEWEST_FIRST = tuple(Hearing)


class SessionOpening(Value):
    """The settings of a channel's new session: participants, creator, and who may hear it.

    `others_read` says that it is a private conversation of several people.
    """

    agent_ids: Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=PARTICIPANTS)]
    opened_by: Identifier
    name: Name | None = None
    theme: Annotated[ShortText, Field(max_length=500)] = ""
    hearing: Hearing = Hearing.SESSION
    guild_id: Identifier | None = None
    others_read: bool = False


def narrowest_conversation_hearing(*hearings: Hearing) -> Hearing:
    """Return the most restrictive of these hearings."""
    return min(hearings, key=_FEWEST_FIRST.index)


def conversation_bound_to_channel(home: Home, place: str) -> Session | None:
    """Return the active session of a channel, or None."""
    return _session(home.sessions, home.facts.get(INSTALLATION_FACTS, PLACE, place))


def open_conversation_of_channel(
    runtime: Runtime,
    place: str,
    opening: SessionOpening,
    *,
    key: str = "",
    known: Collection[Profile] = (),
) -> Session:
    """Return the session of a channel, opened if there is none; add missing agents to it.

    If the bound session may be heard by more people than the opening allows, a new one with the
    same agents and creator replaces it. A `key` starts a new session and ends the bound one; the
    same key again returns the same session. `known` are agents that the caller has just read.
    Raises NotFound (agent), and Conflict for a retired agent, for too many participants, and when
    concurrent updates exhaust the retries.
    """
    read = {profile.agent.id: profile for profile in known}
    for agent_id in opening.agent_ids:
        profile = read.get(agent_id) or runtime.home.agents.get(agent_id)
        if not profile.agent.answers:
            raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    session = _open_or_join(runtime, place, opening, key)
    if opening.others_read:
        record_access_of_unknown_people(runtime.home.facts, session.id)
    return session


def _open_or_join(runtime: Runtime, place: str, opening: SessionOpening, key: str) -> Session:
    started = stable_id("place", place, "started", key) if key else ""
    for _ in range(_TRIES):
        fact = runtime.home.facts.get(INSTALLATION_FACTS, PLACE, place)
        session = _session(runtime.home.sessions, fact)
        if session is None or _is_other(session, opening, started):
            follows = opening if session is None or started else _closer(session, opening)
            session = _begin_session(
                runtime, place, follows, started=started, fact=fact, current=session
            )
        if session is not None and session.status is SessionStatus.ENDED:
            return session
        if session is None or _is_other(session, opening, started):
            continue
        joined = _seat_missing_agents(
            runtime.home.sessions, runtime.clock, session, opening.agent_ids
        )
        if joined is not None:
            return joined
    raise Conflict(
        f"concurrent updates to the session of channel {place!r}; retries exhausted",
        cure="try again",
    )


def leave_channel_conversation(home: Home, clock: Clock, place: str, agent_id: str) -> Session:
    """Remove an agent from the session of a channel; the last one to leave ends it.

    Raises NotFound when there is no session, or the agent is not in it.
    """
    session = conversation_bound_to_channel(home, place)
    if session is None or agent_id not in session.agent_ids:
        raise NotFound(f"agent {agent_id!r} has no session in channel {place!r}", cure="start one")
    left = tuple(each for each in session.agent_ids if each != agent_id)
    now = clock.now()
    if not left:
        return home.sessions.end(session.id, now)
    return home.sessions.set_participants(session.id, left, now)


def _is_other(session: Session, opening: SessionOpening, started: str) -> bool:
    """Check whether a session is not the one just started, or may be heard by too many people."""
    if started:
        return session.id != started
    return narrowest_conversation_hearing(session.hearing, opening.hearing) is not session.hearing


def _closer(session: Session, opening: SessionOpening) -> SessionOpening:
    """Return the opening of a session that fewer people hear, without the theme of the old one."""
    together = tuple(dict.fromkeys((*session.agent_ids, *opening.agent_ids)))
    require_seats_left_in_session(len(together))
    return opening.replaced(agent_ids=together, opened_by=session.created_by)


def _session(sessions: Sessions, fact: Document | None) -> Session | None:
    if fact is None:
        return None
    try:
        session = sessions.get(fact.read(ChannelBinding).session_id)
    except NotFound:
        return None
    return session if session.status is SessionStatus.ACTIVE else None


def _begin_session(
    runtime: Runtime,
    place: str,
    opening: SessionOpening,
    *,
    started: str,
    fact: Document | None,
    current: Session | None,
) -> Session | None:
    """Open a channel's new session and end the one before; None after a concurrent update.

    A session that the same key started before, and that has ended since, is returned as it is.
    """
    version = 0 if fact is None else fact.version
    opened = _open(runtime, started or stable_id("place", place, str(version)), opening)
    if started and opened.status is SessionStatus.ENDED:
        return opened
    if current is not None:
        runtime.home.sessions.end(current.id, runtime.clock.now())
    bound = ChannelBinding(session_id=opened.id)
    first = new_fact(INSTALLATION_FACTS, PLACE, place, bound)
    try:
        runtime.home.facts.commit(first if fact is None else fact.with_body(bound))
    except Changed:
        return None
    return opened if opened.status is SessionStatus.ACTIVE else None


def _seat_missing_agents(
    sessions: Sessions, clock: Clock, session: Session, agent_ids: tuple[str, ...]
) -> Session | None:
    """Add the missing agents to a session; return None if it has ended meanwhile."""
    missing = tuple(each for each in agent_ids if each not in session.agent_ids)
    if not missing:
        return session
    require_seats_left_in_session(len({*session.all_time_agent_ids, *missing}))
    together = (*session.agent_ids, *missing)
    try:
        return sessions.set_participants(session.id, together, clock.now())
    except Conflict:
        return None


def _open(runtime: Runtime, session_id: str, opening: SessionOpening) -> Session:
    """Create a session with this id, or return the one that a concurrent call created.

    Several agents with a theme hold a discussion.
    """
    now = runtime.clock.now()
    alone = len(opening.agent_ids) == 1
    talked_over = bool(opening.theme) and not alone
    session = Session(
        id=session_id,
        mode=Mode.DIRECT if alone else Mode.AUTONOMOUS,
        theme=opening.theme,
        hop_limit=scaled_discussion_hop_limit(
            runtime.rules.autonomy.hop_limit, len(opening.agent_ids)
        )
        if talked_over
        else None,
        name=opening.name,
        participants=tuple(Participant(agent_id=each) for each in opening.agent_ids),
        hearing=opening.hearing,
        guild_id=opening.guild_id,
        created_by=opening.opened_by,
        created_at=now,
        updated_at=now,
    )
    try:
        return runtime.home.sessions.create(session)
    except Conflict:
        return runtime.home.sessions.get(session_id)
