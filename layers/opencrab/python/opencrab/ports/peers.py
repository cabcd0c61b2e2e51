"""Reads of other agents: who is in reach of an agent, and what stands on the notice board."""

from itertools import islice

from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.peers.notice import LOOKED_AT, NOTICE, Notice, notice_board_id
from opencrab.domain.peers.policy import PEER_POLICY, PeerPolicy, peers_in_reach
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages, paginate

_AGENTS, _PAGE = 1_000, 100


def find_peers_in_reach(agents: Agents, facts: Documents, agent: Agent) -> tuple[Profile, ...]:
    """Return the agents that an agent may reach, in order of their ids, without their state."""
    found = paginate(agents.page, after=None, limit=_PAGE, key=lambda profile: profile.agent.id)
    return peers_in_reach(agent, islice(found, _AGENTS), find_peer_policies(facts))


def find_peer_policies(facts: Documents) -> dict[str, PeerPolicy]:
    """Return the peer policies that owners have set, by agent."""
    found = all_pages(facts, INSTALLATION_FACTS, PEER_POLICY)
    return {fact.id: fact.read(PeerPolicy) for fact in found}


def find_notices_on_peer_board(facts: Documents, agent: Agent) -> tuple[Notice, ...]:
    """Return the newest notices on the board of an agent's owner, newest first, its own included.

    Expired ones may be among them.
    """
    page = facts.page(notice_board_id(agent.owner), NOTICE, limit=LOOKED_AT, newest_first=True)
    return tuple(fact.read(Notice) for fact in page)
