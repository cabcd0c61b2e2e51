"""Where agents are kept."""

from typing import Protocol

from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul


class Agents(Protocol):
    """Agents with soul and identity; every change names the version it was made from."""

    def create(self, profile: Profile) -> Profile:
        """Create an agent, soul and identity in one transaction; raises Conflict if the id exists.

        An agent that is there and equal in everything but its times is answered as it is.
        """

    def get(self, agent_id: str) -> Profile:
        """Load an agent whole with its mind, in one read; raises NotFound."""

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        """Agents in order of their ids, after the given one; without their minds."""

    def save(
        self,
        agent: Agent,
        *,
        soul: Soul | None = None,
        identity: Identity | None = None,
    ) -> Agent:
        """Store the agent as the version after `agent.version`, with a new soul or identity.

        Raises Conflict when the stored version is another one.
        """
