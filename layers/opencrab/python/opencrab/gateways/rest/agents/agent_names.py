"""Agents by name: for clients that know agents by what people call them."""

from collections.abc import Iterator

from opencrab.domain.access.policy import Area
from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Invalid, NotFound
from opencrab.engine.access.visibility import agent_access_resource, may_principal_read
from opencrab.ports.agents import Agents

_PAGE = 100
_PAGES = 10
"""At most so many agents are looked through: more are not listed, and found by their ids only."""


def find_agent_by_id_or_name(
    agents: Agents, who: Principal, said: str, *, field: str, cure: str
) -> Profile:
    """Return the agent with this id, or else this name; raises NotFound, Invalid (several).

    An error names `field`; `cure` says where the agents are listed.
    """
    named = _agent_in_sight(agents, who, said)
    if named is not None:
        return named
    found = [each for each in agents_in_sight(agents, who) if each.agent.name == said]
    if not found:
        raise NotFound(f"there is no agent {said!r}", field=field, cure=cure)
    if len(found) > 1:
        raise Invalid(
            f"{len(found)} agents are called {said!r}", field=field, cure="use the agent's id"
        )
    return found[0]


def agents_in_sight(agents: Agents, who: Principal) -> Iterator[Profile]:
    """Return the agents that answer and that a principal may see, in order of their ids."""
    after: str | None = None
    for _ in range(_PAGES):
        page = agents.page(after=after, limit=_PAGE)
        yield from (profile for profile in page if _is_in_sight(profile, who))
        if len(page) < _PAGE:
            return
        after = page[-1].agent.id


def _agent_in_sight(agents: Agents, who: Principal, agent_id: str) -> Profile | None:
    try:
        profile = agents.get(agent_id)
    except NotFound:
        return None
    return profile if _is_in_sight(profile, who) else None


def _is_in_sight(profile: Profile, who: Principal) -> bool:
    resource = agent_access_resource(Area.PROFILE, profile.agent.id)
    return profile.agent.answers and may_principal_read(who, resource)
