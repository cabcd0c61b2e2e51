"""What-if over REST: what an agent's calls would have cost and been worth with other models."""

from fastapi import Response
from pydantic import Field

from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Value
from opencrab.engine.insight.what_if import Aliases, WhatIf, what_if
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/agents/{agent_id}", "analytics")


class WhatIfBody(Value, defer_build=False):
    """The models to exchange, and the calls to recalculate."""

    aliases: Aliases = Field(
        description="the other model for an alias, or for a model that is in use now",
        examples=[{"smart": "openai:gpt-5-mini"}],
    )
    period: Period = Period.LAST_WEEK


@router.post(
    "/whatif",
    response_model=WhatIf,
    operation_id="what_if",
)
def replay_costs_what_if(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[WhatIfBody]
) -> Response:
    """Recalculate the cost of an agent's calls with other models' prices.

    It calls no model and changes nothing. Quality and time are known values of the other model for
    the same work, or null.
    """
    return once.answer(body, lambda: what_if(api.runtime, agent_id, body.aliases, body.period))
