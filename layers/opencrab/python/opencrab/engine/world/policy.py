"""World policy: whether an owner trusts the signed messages of a world, and up to which cost."""

from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.value import Value
from opencrab.domain.world.standing import Amount, WorldStanding, WorldTrust
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import world_of_agent
from opencrab.engine.world_outbox import stored_world_standing, world_standing_document

_TRIES = 5


class NewWorldPolicy(Value, defer_build=False):
    """The owner's policy for a bound agent: trusted up to a cost a day, or asked each time."""

    trusted: bool
    daily_limit: Amount = 0


def set_world_policy(runtime: Runtime, agent_id: str, policy: NewWorldPolicy) -> WorldStanding:
    """Set whether a bound agent's world is trusted; return the agent's standing.

    It also ends the doubt about a world that contradicted itself: the owner knows of it now. What
    was spent today stays spent. Raises NotFound for an agent that is bound to no world.
    """
    world_of_agent(runtime.home, agent_id)
    for _ in range(_TRIES):
        stored = stored_world_standing(runtime.home.facts, agent_id)
        before = WorldStanding() if stored is None else stored.read(WorldStanding)
        trust = None
        if policy.trusted:
            known = before.trust or WorldTrust(daily_limit=0)
            trust = known.replaced(daily_limit=policy.daily_limit)
        changed = before.replaced(trust=trust, doubt=None)
        try:
            runtime.home.facts.commit(world_standing_document(agent_id, changed, stored))
        except Changed:
            continue
        return changed
    raise Unavailable(
        f"concurrent updates to the world of agent {agent_id!r}; retries exhausted",
        cure="try again",
    )
