"""Peer policies: which other agents an agent may reach, and who they are now."""

from opencrab.domain.peers.policy import PeerPolicy
from opencrab.domain.value import Value
from opencrab.engine.peers.policy import (
    peer_policy_of_agent,
    peers_reached_by_policy,
    set_peer_policy,
)
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id, RestContext

router = http_routes_below("/api/agents/{agent_id}", "agents")


class PeerPolicyPut(PeerPolicy, defer_build=False):
    """Which other agents an agent may reach, and may be reached by."""


class ReachedAgentView(Value):
    """An agent that another one may reach."""

    id: str
    name: str


class PeerPolicyView(PeerPolicy):
    """The policy, and the agents that the agent may reach by it now.

    An agent reaches another only if the policies of both permit it.
    """

    in_reach: tuple[ReachedAgentView, ...]


@router.get("/peer-policy")
def get_peer_policy(api: Api, _caller: Owner, agent_id: Id) -> PeerPolicyView:
    """Get which other agents an agent may reach.

    `reach` is `owner` (agents of the same owner, the default), `nobody`, or `listed`.
    """
    return _view(api, agent_id)


@router.put("/peer-policy")
def put_peer_policy(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[PeerPolicyPut]
) -> PeerPolicyView:
    """Set which other agents an agent may reach, and may be reached by."""
    set_peer_policy(api.runtime.home, agent_id, PeerPolicy(**dict(body)))
    return _view(api, agent_id)


def _view(api: RestContext, agent_id: str) -> PeerPolicyView:
    home = api.runtime.home
    policy = peer_policy_of_agent(home, agent_id)
    reached = peers_reached_by_policy(home, agent_id)
    shown = tuple(ReachedAgentView(id=x.agent.id, name=x.identity.name) for x in reached)
    return PeerPolicyView(**dict(policy), in_reach=shown)
