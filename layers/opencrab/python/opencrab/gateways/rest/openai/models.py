"""Agents as models: what clients of OpenAI's API offer to choose from.

Source of the format: OpenAI's API reference, "Models".
"""

from collections.abc import Iterator
from typing import Literal

from opencrab.domain.access.policy import Area
from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import agent_access_resource, may_principal_read
from opencrab.gateways.rest.http.access import Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.ports.agents import Agents

_PAGE = 100
_PAGES = 10
"""At most so many agents are looked through: more are not listed, and found by their ids only."""

router = http_routes_below("/v1/models", "openai")


class AgentModel(Value):
    """An agent, as clients show a model: `id` is its name, if no other agent has that."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["opencrab"] = "opencrab"
    name: str


class AgentModels(Value):
    """All agents that the key may talk to."""

    object: Literal["list"] = "list"
    data: tuple[AgentModel, ...]


@router.get("", operation_id="list_openai_models")
def list_agents_as_models(api: Api, caller: Reader) -> AgentModels:
    """List agents as models, for clients of OpenAI's API."""
    profiles = tuple(_agents_in_sight(api.runtime.home.agents, caller.principal))
    names = [profile.agent.name for profile in profiles]
    return AgentModels(
        data=tuple(
            _model(each, each.agent.name if names.count(each.agent.name) == 1 else each.agent.id)
            for each in profiles
        )
    )


@router.get("/{model}", operation_id="get_openai_model")
def get_agent_as_model(api: Api, caller: Reader, model: str) -> AgentModel:
    """Get an agent as a model, by its id or name."""
    return _model(find_agent_as_model(api.runtime.home.agents, caller.principal, model), model)


def find_agent_as_model(agents: Agents, who: Principal, model: str) -> Profile:
    """Return the agent with this id, or else this name; raises NotFound, Invalid (several)."""
    named = _agent_in_sight(agents, who, model)
    if named is not None:
        return named
    found = [each for each in _agents_in_sight(agents, who) if each.agent.name == model]
    if not found:
        raise NotFound(
            f"there is no agent {model!r}",
            field="model",
            cure="GET /v1/models lists the agents",
        )
    if len(found) > 1:
        raise Invalid(
            f"{len(found)} agents are called {model!r}",
            field="model",
            cure="use the agent's id",
        )
    return found[0]


def _agent_in_sight(agents: Agents, who: Principal, agent_id: str) -> Profile | None:
    try:
        profile = agents.get(agent_id)
    except NotFound:
        return None
    return profile if _is_in_sight(profile, who) else None


def _is_in_sight(profile: Profile, who: Principal) -> bool:
    resource = agent_access_resource(Area.PROFILE, profile.agent.id)
    return profile.agent.answers and may_principal_read(who, resource)


def _agents_in_sight(agents: Agents, who: Principal) -> Iterator[Profile]:
    after: str | None = None
    for _ in range(_PAGES):
        page = agents.page(after=after, limit=_PAGE)
        yield from (profile for profile in page if _is_in_sight(profile, who))
        if len(page) < _PAGE:
            return
        after = page[-1].agent.id


def _model(profile: Profile, model: str) -> AgentModel:
    agent = profile.agent
    return AgentModel(id=model, created=int(agent.created_at.timestamp()), name=agent.name)
