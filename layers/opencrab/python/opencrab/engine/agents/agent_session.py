"""The session in which an agent is alone: its heartbeats and schedules speak there."""

from datetime import datetime

from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.identifier import stable_id


def agents_own_session(agent_id: str, now: datetime) -> Session:
    """Return the session in which an agent is alone; what is said there stays private."""
    return Session(
        id=stable_id("own", agent_id),
        participants=(Participant(agent_id=agent_id),),
        hearing=Hearing.PRIVATE,
        created_by=agent_id,
        created_at=now,
        updated_at=now,
    )
