"""Block: the draws of one block from all budgets of a turn, also those of who caused it."""

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import BudgetDraw, Limits
from opencrab.domain.turn.turn import Block, Turn, budget_draws_for_turn, is_own_budget
from opencrab.domain.value import MicroUsd
from opencrab.ports.agents import Agents


def draw_block_for_turn(
    agents: Agents, turn: Turn, agent: Agent, block: Block, limits: Limits
) -> tuple[BudgetDraw, ...]:
    """Return the draws that take a block from every budget of a turn of this agent.

    What another agent asked for counts on that agent's day too: its limit is read then.
    """
    callers = [scope for scope in block.scopes if not is_own_budget(scope, turn.agent_id)]
    caller = _day_limit(agents, callers[0].partition(":")[2]) if callers else None
    return budget_draws_for_turn(turn, block, limits, agent.day_limit_micro_usd, caller)


def _day_limit(agents: Agents, agent_id: str) -> MicroUsd | None:
    """Return the daily limit that another agent was given; None if it has none of its own."""
    try:
        return agents.get(agent_id).agent.day_limit_micro_usd
    except NotFound:
        return None
