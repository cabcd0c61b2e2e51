"""Worlds: the outside world that an agent is bound to, for good, and how it fares there."""

from typing import Any

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.world.binding import Genome
from opencrab.engine.world.binding import NewBinding, bind_to_world, world_of_agent
from opencrab.gateways.rest.http.access import Owner, ProfileReader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agents/{agent_id}/world", "world")


class WorldView(View):
    """An agent's binding to its world; `key_id` is its name there."""

    world_id: str
    agent_id: str
    public_key: str
    key_id: str
    keys: tuple[str, ...]
    genome: Genome
    status: AgentStatus | None
    balance: int | None
    reputation: float | None
    units: int | None
    cycle: int
    state: dict[str, Any]


@router.get("")
def get_agent_world(api: Api, _caller: ProfileReader, agent_id: Id) -> WorldView:
    """Get an agent's binding to its world.

    It has the agent's public key, genome and balance.
    """
    return WorldView.of(world_of_agent(api.runtime.home, agent_id))


@router.put("")
def put_agent_world(api: Api, _caller: Owner, agent_id: Id, body: Strict[NewBinding]) -> WorldView:
    """Bind an agent to a world permanently.

    The private key is created here and stays in the secret store.
    """
    return WorldView.of(bind_to_world(api.runtime, agent_id, body))
