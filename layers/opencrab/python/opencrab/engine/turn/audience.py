"""Audience: who may read the place where a turn's answer goes, and what the turn may read then."""

from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, reading_clearance_of_authority
from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.agents.agent import Agent
from opencrab.domain.conversation.channel_binding import (
    PLACE,
    ChannelBinding,
    conversation_place_of_channel,
)
from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.errors import NotFound
from opencrab.domain.memory.clearance import Clearance, Listeners, memory_clearance_of_turn
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.access.owners import owners_among_principals
from opencrab.engine.runtime import Runtime

TURN_READERS = "turn_readers"
"""The kind of documents that label what a turn has read; the id is the turn's.

The release before does not know them, and still reads the turn.
"""

_KEPT = timedelta(days=35)
"""As long as ended turns; one that waits longer counts as without a label."""

_OPEN = {Hearing.GUILD, Hearing.PUBLIC}


class TurnReaders(Value):
    """The label of what a turn has read so far; see `domain/memory/clearance`."""

    readers: str


def turn_audience_clearance(
    runtime: Runtime, turn: Turn, agent: Agent, session: Session, access: SessionAccess
) -> Clearance:
    """Return what a turn may read: the least of what its asker and its audience may (ADR 0033).

    What a turn of the agent itself says to a channel, as a heartbeat does, stands in its session
    too: both have its audience. Every other turn has that of its session.
    """
    listeners = _session_listeners(runtime, turn, agent, session, access)
    by_itself = turn.authority is Authority.SELF or session.created_by == agent.id
    if turn.channel is not None and by_itself:
        there = _channel_listeners(runtime, turn, agent, turn.channel, held_in=session.id)
        listeners = listeners if there is None else listeners.joined(there, session.id)
    return memory_clearance_of_turn(turn.authority, turn.principal_id, session, listeners)


def may_turn_channel_hear_everything(
    runtime: Runtime, turn: Turn, agent: Agent, channel: Channel
) -> bool:
    """Check whether those who read a channel may know all that the agent itself knows."""
    listeners = _channel_listeners(runtime, turn, agent, channel)
    return listeners is None or listeners.may_hear_everything


def _session_listeners(
    runtime: Runtime, turn: Turn, agent: Agent, session: Session, access: SessionAccess
) -> Listeners:
    """Return who may read a session: its creator, its members, and who else its place admits."""
    if access.speaks_freely:
        return Listeners(freely=True, guild_id=session.guild_id or "")
    guild_id = session.guild_id or ""
    others = bool(guild_id) or access.others_read
    strangers = session.hearing in _OPEN
    nobody = {*session.all_time_agent_ids, FORGOTTEN_PERSON}
    people = frozenset({session.created_by, *access.members}) - nobody
    if turn.authority is Authority.OWNER:
        people -= {turn.principal_id}
    # Without anybody in question nothing more is read: most sessions have one person.
    unknown = people - ({turn.principal_id} if turn.authority is Authority.USER else set())
    if unknown and reading_clearance_of_authority(turn.authority) and not (others or strangers):
        people = people - owners_among_principals(runtime, unknown, agent.id)
    return Listeners(people=people, others=others, strangers=strangers, guild_id=guild_id)


def _channel_listeners(
    runtime: Runtime, turn: Turn, agent: Agent, channel: Channel, held_in: str = ""
) -> Listeners | None:
    """Return who may read a channel: those of the session that is held there.

    None if that is the session `held_in`. A channel that no session is bound to may be read by
    strangers.
    """
    place = conversation_place_of_channel(channel)
    bound = runtime.home.facts.get(INSTALLATION_FACTS, PLACE, place)
    try:
        if bound is not None:
            session_id = bound.read(ChannelBinding).session_id
            if session_id == held_in:
                return None
            session, access = runtime.home.sessions.get_with_access(session_id)
            found = _session_listeners(runtime, turn, agent, session, access)
            return Listeners(
                people=found.people,
                others=found.others,
                strangers=found.strangers,
                freely=found.freely,
                guild_id=found.guild_id,
                place=place,
            )
    except NotFound:
        pass
    return Listeners(others=True, strangers=True, place=place)


def turn_transcript_label(
    runtime: Runtime, turn: Turn, session: Session, transcript: Transcript
) -> str:
    """Return the label of what a turn has read: without a stored one, all that its asker may.

    Only turns with a narrower one store it, so nothing is read before the first model call.
    """
    if transcript.first_call is not None:
        stored = runtime.home.facts.get(turn.agent_id, TURN_READERS, turn.id)
        if stored is not None:
            return stored.read(TurnReaders).readers
    alone = Listeners(guild_id=session.guild_id or "")
    return memory_clearance_of_turn(turn.authority, turn.principal_id, session, alone).label


def label_of_turn_reading(turn: Turn, clearance: Clearance, now: datetime) -> Document:
    """Return the document that labels what a turn reads from now on."""
    label = TurnReaders(readers=clearance.label)
    fact = new_fact(turn.agent_id, TURN_READERS, turn.id, label, expires_at=now + _KEPT)
    return fact.replaced(version=0)
