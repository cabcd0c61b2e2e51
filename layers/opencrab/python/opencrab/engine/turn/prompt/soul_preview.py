"""Soul preview: the system text that a soul would give, before anybody saves it."""

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.session import Participant, Session
from opencrab.engine.turn.prompt.system_text import system_prompt_text
from opencrab.ports.models.model import PromptText


def preview_system_prompt(profile: Profile) -> PromptText:
    """Return the system text of a profile in a session without a theme, skills or memories."""
    agent = profile.agent
    session = Session(
        id="preview",
        participants=(Participant(agent_id=agent.id),),
        created_by=agent.owner or agent.id,
        created_at=agent.updated_at,
        updated_at=agent.updated_at,
    )
    return system_prompt_text(profile, session)
