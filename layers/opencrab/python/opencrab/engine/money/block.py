"""Block: the draws of one block from all budgets of a turn, also those of who caused it."""

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import BudgetDraw, Limits
from opencrab.domain.turn.turn import Block, Turn, turn_block_draws
from opencrab.domain.value import MicroUsd
from opencrab.ports.agents import Agents

_OF_AGENTS = ("agent:", "heartbeat:")


def draw_budget_block(
    agents: Agents, turn: Turn, agent: Agent, block: Block, limits: Limits
) -> tuple[BudgetDraw, ...]:
    """Return the draws that take a block from every budget of a turn of this agent.

    What another agent asked for counts on that agent's day too: its limit is read then.
    """
    draws = turn_block_draws(turn, block, limits, agent.day_limit_micro_usd)
    caller = next(filter(None, (_other_agent(each, agent.id) for each in block.scopes)), None)
    if caller is None:
        return draws
    own = _day_limit(agents, caller)
    return tuple(
        draw.replaced(limit_micro_usd=limits.of_budget(draw.scope, own))
        if _other_agent(draw.scope, agent.id)
        else draw
        for draw in draws
    )


def _other_agent(scope: str, agent_id: str) -> str | None:
    """Return the agent whose budget a scope is, None if it is this agent's or nobody's."""
    owner = scope.partition(":")[2]
    return owner if scope.startswith(_OF_AGENTS) and owner != agent_id else None


def _day_limit(agents: Agents, agent_id: str) -> MicroUsd | None:
    """Return the daily limit that another agent was given; None if it has none of its own."""
    try:
        return agents.get(agent_id).agent.day_limit_micro_usd
    except NotFound:
        return None
