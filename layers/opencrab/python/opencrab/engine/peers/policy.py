"""Peer policy of an agent: read, set, and which agents it may reach by it."""

from opencrab.domain.agents.agent import Profile
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.peers.policy import PEER_POLICY, PeerPolicy, PeerReach
from opencrab.ports.home import Home
from opencrab.ports.peers import find_peers_in_reach


def peer_policy_of_agent(home: Home, agent_id: str) -> PeerPolicy:
    """Return an agent's peer policy, the default if none is set; raises NotFound (agent)."""
    home.agents.get(agent_id)
    stored = home.facts.get(INSTALLATION_FACTS, PEER_POLICY, agent_id)
    return PeerPolicy() if stored is None else stored.read(PeerPolicy)


def set_peer_policy(home: Home, agent_id: str, policy: PeerPolicy) -> None:
    """Set an agent's peer policy; the last one to set it wins.

    Raises NotFound (agent), and Invalid for agents that do not fit or do not exist.
    """
    home.agents.get(agent_id)
    if (policy.reach is PeerReach.LISTED) != bool(policy.agents):
        raise Invalid(
            "agents are named if reach is listed, and only then",
            field="agents",
            cure="name them, or choose owner or nobody",
        )
    for each in policy.agents:
        try:
            home.agents.get(each)
        except NotFound:
            raise Invalid(
                f"there is no agent {each!r}", field="agents", cure="use ids of GET /api/agents"
            ) from None
    fact = new_fact(INSTALLATION_FACTS, PEER_POLICY, agent_id, policy)
    home.facts.commit(fact.replaced(version=0))


def peers_reached_by_policy(home: Home, agent_id: str) -> tuple[Profile, ...]:
    """Return the agents that an agent may reach now; raises NotFound (agent)."""
    return find_peers_in_reach(home.agents, home.facts, home.agents.get(agent_id).agent)
