"""Agents as models: what clients of OpenAI's API offer to choose from.

Source of the format: OpenAI's API reference, "Models".
"""

from typing import Literal

from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.agent import Profile
from opencrab.domain.value import Value
from opencrab.gateways.rest.agents.agent_names import agents_in_sight, find_agent_by_id_or_name
from opencrab.gateways.rest.http.access import Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.ports.agents import Agents

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
    profiles = tuple(agents_in_sight(api.runtime.home.agents, caller.principal))
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
    cure = "GET /v1/models lists the agents"
    return find_agent_by_id_or_name(agents, who, model, field="model", cure=cure)


def _model(profile: Profile, model: str) -> AgentModel:
    agent = profile.agent
    return AgentModel(id=model, created=int(agent.created_at.timestamp()), name=agent.name)
