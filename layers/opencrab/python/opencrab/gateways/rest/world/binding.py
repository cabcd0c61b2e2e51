"""Worlds: the outside world that an agent is bound to, for good, and how it fares there."""

from datetime import datetime
from typing import Any

from pydantic import Field

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.world.binding import Genome, WorldBinding
from opencrab.domain.world.standing import ReadSeed, WorldAccount, WorldDoubt, WorldTrust
from opencrab.engine.world.binding import NewBinding, bind_to_world, world_of_agent
from opencrab.engine.world.policy import NewWorldPolicy, set_world_policy
from opencrab.engine.world_outbox import world_standing
from opencrab.gateways.rest.http.access import Owner, ProfileReader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id, RestContext
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
    prices: dict[str, int]
    account: WorldAccount | None = Field(description="the newest entry that the world reported")
    doubt: WorldDoubt | None = Field(description="how the world last contradicted itself")
    trust: WorldTrust | None = Field(description="null if each message needs an approval")
    heard_at: datetime | None
    seeds_read: tuple[ReadSeed, ...] = Field(
        default=(), description="what became of each seed source; only in the answer to a binding"
    )


def _view(
    api: RestContext, world: WorldBinding, seeds_read: tuple[ReadSeed, ...] = ()
) -> WorldView:
    standing = world_standing(api.runtime.home.facts, world.agent_id)
    names = ("prices", "account", "doubt", "trust", "heard_at")
    told = {name: getattr(standing, name) for name in names}
    return WorldView.of(world, **told, seeds_read=seeds_read)


@router.get("")
def get_agent_world(api: Api, _caller: ProfileReader, agent_id: Id) -> WorldView:
    """Get an agent's binding to its world.

    It has the agent's public key, genome and balance.
    """
    return _view(api, world_of_agent(api.runtime.home, agent_id))


@router.put("")
def put_agent_world(api: Api, _caller: Owner, agent_id: Id, body: Strict[NewBinding]) -> WorldView:
    """Bind an agent to a world permanently.

    The private key is created here and stays in the secret store.
    """
    from opencrab.engine.learning.knowledge_seeds import (  # noqa: PLC0415 - seldom needed
        read_knowledge_seeds_for_learning,
    )

    world = bind_to_world(api.runtime, agent_id, body)
    return _view(api, world, read_knowledge_seeds_for_learning(api.runtime, agent_id))


@router.put("/policy")
def put_agent_world_policy(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[NewWorldPolicy]
) -> WorldView:
    """Set whether an agent's world is trusted, and up to what cost a day.

    With a trusted world `world_send` needs no approval up to this cost, in the world's currency,
    and the world's messages do not count as untrusted. A doubt about the world ends.
    """
    set_world_policy(api.runtime, agent_id, body)
    return _view(api, world_of_agent(api.runtime.home, agent_id))
