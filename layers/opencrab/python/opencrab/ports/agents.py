"""Where agents are kept."""

from collections.abc import Iterable
from typing import Protocol

from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul


class Agents(Protocol):
    """A store of agents with soul and identity; each change names the version it was made from."""

    def create(self, profile: Profile) -> Profile:
        """Create an agent, soul and identity in one transaction; raises Conflict if the id exists.

        If an agent equal in everything but its times exists, it is returned unchanged.
        """

    def get(self, agent_id: str) -> Profile:
        """Load an agent with soul, identity and state in one read; raises NotFound."""

    def names(self, agent_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of those of these agents that exist, by id, in one read."""

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        """Return agents in order of their ids, after the given one; without their state."""

    def save(
        self,
        agent: Agent,
        *,
        soul: Soul | None = None,
        identity: Identity | None = None,
    ) -> Agent:
        """Store the agent as the version after `agent.version`, with a new soul or identity.

        Raises Conflict if the stored version is another one.
        """
