"""What-if over REST: what an agent's calls would have cost and been worth with other models."""

from fastapi import Response
from pydantic import Field

from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Value
from opencrab.engine.insight.what_if import Aliases, WhatIf, what_if
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = routes_below("/api/agents/{agent_id}", "analytics")


class WhatIfBody(Value, defer_build=False):
    """Which models would mean something else, and the calls that are replayed so."""

    aliases: Aliases = Field(
        description="another model by alias, or by the model that is asked now",
        examples=[{"smart": "openai:gpt-5-mini"}],
    )
    period: Period = Period.LAST_WEEK


@router.post(
    "/whatif",
    response_model=WhatIf,
    summary="What if it had other models?",
    operation_id="what_if",
)
def replay(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[WhatIfBody]
) -> Response:
    """Replay the ledger at the other models' prices; nothing is changed and no model is called.

    Quality and time are what is known of the other model for the same work, null where nothing is.
    """
    return once.answer(body, lambda: what_if(api.runtime, agent_id, body.aliases, body.period))
