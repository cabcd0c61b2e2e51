"""Presences: what an agent is on Discord, kept among the installation's facts."""

from opencrab.domain.discord.community import PRESENCE, Presence
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

_PAGE = 100


def discord_presence(facts: Documents, agent_id: str) -> Presence | None:
    """What is kept of an agent, or None: then it can be asked anywhere, and speaks up nowhere."""
    fact = facts.get(INSTALLATION_FACTS, PRESENCE, agent_id)
    return None if fact is None else fact.read(Presence)


def discord_presences(facts: Documents) -> tuple[Presence, ...]:
    """All that are kept, in order of their agents' ids."""
    found, after = list[Document](), ""
    while True:
        page = facts.page(INSTALLATION_FACTS, PRESENCE, after=after, limit=_PAGE)
        found.extend(page)
        if len(page) < _PAGE:
            return tuple(fact.read(Presence) for fact in found)
        after = page[-1].id


def save_discord_presence(home: Home, presence: Presence) -> Presence:
    """Keep what an agent is there in place of what was kept; raises NotFound without the agent."""
    home.agents.get(presence.agent_id)
    fact = new_fact(INSTALLATION_FACTS, PRESENCE, presence.agent_id, presence)
    home.facts.commit(fact.replaced(version=0))
    return presence


def delete_discord_presence(home: Home, agent_id: str) -> None:
    """Keep nothing of an agent any more; what is not kept stays so. Raises NotFound as `keep`."""
    home.agents.get(agent_id)
    gone = Document(owner=INSTALLATION_FACTS, kind=PRESENCE, id=agent_id, version=0, body=None)
    home.facts.commit(gone)
