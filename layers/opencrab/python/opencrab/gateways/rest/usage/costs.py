"""Costs: where each micro-dollar of a turn went."""

from typing import Annotated

from fastapi import Query

from opencrab.domain.value import Identifier
from opencrab.engine.insight.costs import Explanation, turn_cost_for_insight
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api

router = http_routes_below("/api/costs", "costs")


@router.get("/explain")
def explain_costs(
    api: Api, _caller: Owner, turn: Annotated[Identifier, Query(description="id of the turn")]
) -> Explanation:
    """Explain the cost of every model call of a turn.

    The result also shows what happened to the turn's reservations.
    """
    return turn_cost_for_insight(api.runtime, turn)
