"""Budgets: the limits in force, those of the configuration, and what is drawn of them today."""

from dataclasses import dataclass

from opencrab.domain.agents.agent import Agent
from opencrab.domain.money.budget import (
    INSTALLATION,
    LIMITS,
    Limits,
    agent_budget_scope,
    heartbeat_budget_scope,
)
from opencrab.domain.value import MicroUsd
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True)
class BudgetUse:
    """What is drawn today from one budget, what was given back taken off; its limit."""

    scope: str
    drawn_micro_usd: MicroUsd
    limit_micro_usd: MicroUsd


@dataclass(frozen=True)
class BudgetLimits:
    """What may be spent; `changed` names the limits that were set at run time."""

    limits: Limits
    configured: Limits
    changed: tuple[str, ...]
    day: str
    drawn: tuple[BudgetUse, ...]


def budget_limits(runtime: Runtime, agent: Agent | None = None) -> BudgetLimits:
    """The budgets of the installation, and of one agent too, as they stand today (UTC)."""
    configured, changes = runtime.rules.limits, runtime.home.budgets.limits()
    limits = configured.changed(changes)
    day = runtime.clock.now().strftime("%Y-%m-%d")
    most = {INSTALLATION: limits.installation_day_micro_usd}
    if agent is not None:
        of_agent = limits.agent_day(agent.day_limit_micro_usd)
        most[agent_budget_scope(agent.id)] = of_agent
        most[heartbeat_budget_scope(agent.id)] = of_agent * limits.heartbeat_percent // 100
    return BudgetLimits(
        limits=limits,
        configured=configured,
        changed=tuple(name for name in LIMITS if name in changes),
        day=day,
        drawn=tuple(
            BudgetUse(scope, runtime.home.budgets.drawn(scope, day), limit)
            for scope, limit in most.items()
        ),
    )
