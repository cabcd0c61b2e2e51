"""Budgets: how much may be spent, and what is drawn of it today."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from opencrab.domain.agents.agent import Agent
from opencrab.domain.money.budget import LIMITS, Limits
from opencrab.domain.value import Identifier, MicroUsd, Value
from opencrab.engine.money.budgets import budget_limits
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import MetricsReader, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/budgets", "costs")

_Limit = Annotated[MicroUsd, Field(ge=0, le=10**12)]


class LimitsChange(Value, defer_build=False):
    """Limits in micro-dollars: omitted ones stay, null resets one to the configured limit.

    A session's limit of 0 means no limit.
    """

    turn_micro_usd: _Limit | None = None
    session_micro_usd: _Limit | None = Field(default=None, description="0 is no limit")
    agent_day_micro_usd: _Limit | None = None
    installation_day_micro_usd: _Limit | None = None
    heartbeat_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    public_user_day_micro_usd: _Limit | None = None
    block_micro_usd: Annotated[MicroUsd, Field(ge=1, le=10**12)] | None = None

    def changes(self) -> dict[str, MicroUsd | None]:
        """Return the limits that change, with their new values."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class BudgetsPut(Value, defer_build=False):
    """Limits to set; null resets all of them to the configured ones."""

    limits: LimitsChange | None


class DrawnView(View):
    """The use of one budget today, reserved or spent and not returned, and its limit."""

    scope: str
    drawn_micro_usd: int
    limit_micro_usd: int


class BudgetsView(View):
    """The limits in force, the configured limits, and what is reserved or spent today (UTC).

    `changed` names the limits that were set at run time; the others follow the configuration.
    `unconfirmed_micro_usd` is held for calls of today that were perhaps billed: they ended without
    an answer, and their provider has not said what it counted.
    """

    limits: Limits
    configured: Limits
    changed: tuple[str, ...]
    day: str
    drawn: tuple[DrawnView, ...]
    unconfirmed_micro_usd: int = 0


@router.get("")
def get_budgets(
    api: Api,
    _caller: MetricsReader,
    agent: Annotated[
        Identifier | None, Query(description="id of an agent whose budgets are included")
    ] = None,
) -> BudgetsView:
    """Get the budget limits and their use today.

    With `agent`, the budgets of that agent are included. Days are in UTC.
    """
    found = None if agent is None else api.runtime.home.agents.get(agent).agent
    return _budgets_view(api.runtime, found)


@router.put("")
def put_budgets(api: Api, _caller: Owner, body: Strict[BudgetsPut]) -> BudgetsView:
    """Set budget limits.

    Each limit is set separately. They apply to all agents from the next model call on.
    """
    every: dict[str, MicroUsd | None] = dict.fromkeys(LIMITS)
    changes = every if body.limits is None else body.limits.changes()
    api.runtime.home.budgets.change_limits(changes)
    return _budgets_view(api.runtime, None)


def _budgets_view(runtime: Runtime, agent: Agent | None) -> BudgetsView:
    found = budget_limits(runtime, agent)
    return BudgetsView.of(found, drawn=tuple(map(DrawnView.of, found.drawn)))
