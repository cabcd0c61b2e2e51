"""Peer policy: which other agents an agent may reach, as its owner decides."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.value import Identifier, Value

PEER_POLICY = "peer_policy"
"""The kind of documents that store peer policies, owned by the installation; the id is the agent's.

An agent without one has the default. The release before does not know the kind, and there no agent
reaches another.
"""

LISTED = 50
"""The limit of agents that a policy names."""


class PeerReach(StrEnum):
    """The agents that a policy permits: those of the same owner, none, or those it names."""

    OWNER = "owner"
    NOBODY = "nobody"
    LISTED = "listed"


class PeerPolicy(Value):
    """Whom an agent may reach, and who may reach it; `agents` counts if `reach` is `listed`."""

    reach: PeerReach = PeerReach.OWNER
    agents: Annotated[tuple[Identifier, ...], Field(max_length=LISTED)] = ()

    def permits(self, own: Agent, other: Agent) -> bool:
        """Check whether this policy of one agent permits the other."""
        if self.reach is PeerReach.LISTED:
            return other.id in self.agents
        return self.reach is PeerReach.OWNER and own.owner == other.owner


def may_peers_meet(one: Agent, other: Agent, policies: Mapping[str, PeerPolicy]) -> bool:
    """Check whether the policies of two agents both permit the other."""
    default = PeerPolicy()
    pairs = ((one, other), (other, one))
    return all(policies.get(own.id, default).permits(own, peer) for own, peer in pairs)


def peers_in_reach(
    agent: Agent, others: Iterable[Profile], policies: Mapping[str, PeerPolicy]
) -> tuple[Profile, ...]:
    """Return the agents that an agent may reach: both policies permit it, and none has retired."""
    return tuple(
        each
        for each in others
        if each.agent.id != agent.id
        and each.agent.answers
        and may_peers_meet(agent, each.agent, policies)
    )
