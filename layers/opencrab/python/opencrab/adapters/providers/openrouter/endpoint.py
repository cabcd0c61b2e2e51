"""OpenRouter: OpenAI's format in front of many vendors, with the cost of each call in dollars."""

from decimal import ROUND_CEILING, Decimal
from typing import Any

from opencrab.adapters.providers.openai import error
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.lenient import (
    as_mapping,
    parse_provider_json,
    provider_retry_after,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price, Usage
from opencrab.ports.models.model import ChatRequest, ModelInfo

_FREE = ":free"
_IN_FLIGHT = "openrouter_in_flight_budget"
_MICRO = 1_000_000
_MOST_MICRO_USD = 10**12


class OpenRouterWire(OpenAIWire):
    """Its own site and application are named by headers of the endpoint."""

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        """As elsewhere; no vendor may be chosen whose price is above the one that we set aside."""
        body = super().to_wire(request, info, stream=stream)
        return body if info.price is None else body | {"provider": _most(info.price)}

    def usage(self, body: dict[str, Any], party: ErrorParty) -> Usage:
        return super().usage(body, party).replaced(reported_micro_usd=_cost(body, party))

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        """As elsewhere; money that calls under way have set aside comes back in a moment."""
        found = error.openai_error(reply, party)
        wait = provider_retry_after(reply.headers)
        if found.fault is not Fault.QUOTA_SPENT or wait is None or not _is_in_flight(reply):
            return found
        return ModelCallFailed(found.message, Fault.RATE_LIMITED, retry_after_seconds=wait)


def _most(price: Price) -> dict[str, Any]:
    """The dearest vendor that we take, in dollars per million tokens."""
    most = {
        "prompt": _dollars(price.input_per_million),
        "completion": _dollars(price.output_per_million),
    }
    return {"max_price": most}


def _dollars(micro_usd: int) -> str:
    return f"{Decimal(micro_usd) / _MICRO:f}"


def _cost(body: dict[str, Any], party: ErrorParty) -> int | None:
    """What the call cost, rounded up; with a key of the owner's own, its vendor's share as well.

    None where that share is not told: the vendor bills it all the same.
    """
    if party.model.endswith(_FREE):
        return 0
    usage = as_mapping(body.get("usage"))
    cost = _micro_usd(usage.get("cost"))
    if cost is None or usage.get("is_byok") is not True:
        return cost
    upstream = _micro_usd(as_mapping(usage.get("cost_details")).get("upstream_inference_cost"))
    return None if upstream is None else cost + upstream


def _micro_usd(dollars: Any) -> int | None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    # A comparison that NaN fails as well.
    if not 0 <= dollars <= _MOST_MICRO_USD // _MICRO:
        return None
    return int((Decimal(repr(dollars)) * _MICRO).to_integral_value(ROUND_CEILING))


def _is_in_flight(reply: Reply) -> bool:
    try:
        body = parse_provider_json(reply.body)
    except ModelCallFailed:
        return False
    metadata = as_mapping(as_mapping(as_mapping(body).get("error")).get("metadata"))
    return metadata.get("limit_source") == _IN_FLIGHT
