"""The session in which an agent is alone."""

from datetime import UTC, datetime

from opencrab.domain.conversation.session import Hearing
from opencrab.engine.agents.agent_session import agents_own_session

START = datetime(2026, 3, 1, tzinfo=UTC)


def test_an_agents_own_session_is_private_and_always_the_same() -> None:
    session = agents_own_session("crab", START)
    assert session == agents_own_session("crab", START)
    assert (session.hearing, session.agent_ids) == (Hearing.PRIVATE, ("crab",))
