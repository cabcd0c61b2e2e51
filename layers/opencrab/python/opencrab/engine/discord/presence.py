"""Presences: how each agent takes part on Discord, stored for the installation."""

from opencrab.domain.discord.community import PRESENCE, Presence
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

_PAGE = 100


def discord_presence(facts: Documents, agent_id: str) -> Presence | None:
    """Return an agent's presence; None means: can be asked anywhere, never speaks up."""
    fact = facts.get(INSTALLATION_FACTS, PRESENCE, agent_id)
    return None if fact is None else fact.read(Presence)


def discord_presences(facts: Documents) -> tuple[Presence, ...]:
    """Return all stored presences, ordered by agent id."""
    found, after = list[Document](), ""
    while True:
        page = facts.page(INSTALLATION_FACTS, PRESENCE, after=after, limit=_PAGE)
        found.extend(page)
        if len(page) < _PAGE:
            return tuple(fact.read(Presence) for fact in found)
        after = page[-1].id


def set_agent_discord_presence(home: Home, presence: Presence) -> Presence:
    """Store or replace an agent's presence; raise NotFound for an unknown agent."""
    home.agents.get(presence.agent_id)
    fact = new_fact(INSTALLATION_FACTS, PRESENCE, presence.agent_id, presence)
    home.facts.commit(fact.replaced(version=0))
    return presence


def remove_agent_discord_presence(home: Home, agent_id: str) -> None:
    """Delete an agent's presence, if any; raise NotFound for an unknown agent."""
    home.agents.get(agent_id)
    gone = Document(owner=INSTALLATION_FACTS, kind=PRESENCE, id=agent_id, version=0, body=None)
    home.facts.commit(gone)
