"""Budgets: the limits in force, the configured ones, and what is drawn from them today."""

from collections.abc import Iterator
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
    """The amount drawn from one budget today, minus what was returned, and its limit."""

    scope: str
    drawn_micro_usd: MicroUsd
    limit_micro_usd: MicroUsd


@dataclass(frozen=True)
class BudgetLimits:
    """The limits in force; `changed` names the limits that were set at run time.

    `unconfirmed_micro_usd` is the part of today's costs that is held for calls that were perhaps
    billed: their provider has not said.
    """

    limits: Limits
    configured: Limits
    changed: tuple[str, ...]
    day: str
    drawn: tuple[BudgetUse, ...]
    unconfirmed_micro_usd: MicroUsd = 0


def budget_limits(runtime: Runtime, agent: Agent | None = None) -> BudgetLimits:
    """Return today's budgets (UTC) of the installation, and of one agent if given."""
    from opencrab.engine.money.period_usage import money_held_for_calls_of_day  # noqa: PLC0415 - seldom needed

    configured, changes = runtime.rules.limits, runtime.home.budgets.limits()
    limits = configured.changed(changes)
    day = runtime.clock.now().strftime("%Y-%m-%d")
    scopes = [INSTALLATION]
    if agent is not None:
        scopes += [agent_budget_scope(agent.id), heartbeat_budget_scope(agent.id)]
    own_day = None if agent is None else agent.day_limit_micro_usd
    return BudgetLimits(
        limits=limits,
        configured=configured,
        changed=tuple(name for name in LIMITS if name in changes),
        day=day,
        drawn=tuple(
            BudgetUse(
                scope,
                runtime.home.budgets.drawn_micro_usd(scope, day),
                limits.of_budget(scope, own_day) or 0,
            )
            for scope in scopes
        ),
        unconfirmed_micro_usd=sum(
            money_held_for_calls_of_day(runtime, agent_id, day)
            for agent_id in ([agent.id] if agent else _active_agents(runtime, day))
        ),
    )


def _active_agents(runtime: Runtime, day: str) -> Iterator[str]:
    """Yield the ids of all agents that called a model on a day."""
    after = ""
    while page := runtime.home.tallies.active_agents(day, after=after):
        yield from page
        after = page[-1]
