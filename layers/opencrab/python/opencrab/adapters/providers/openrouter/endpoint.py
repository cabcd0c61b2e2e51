"""OpenRouter: OpenAI's format in front of many vendors, with the cost of each call in dollars."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any
from urllib.parse import quote

from opencrab.adapters.providers.openai import error
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    parse_provider_json,
    wire_dict,
    wire_retry_after,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price, Usage
from opencrab.ports.models.model import ChatRequest, ModelInfo

_FREE = ":free"
_MARKED = "anthropic/"
_IN_FLIGHT = "openrouter_in_flight_budget"
_CALL_ID = "x-generation-id"
_LONGEST_ID = 200
_MICRO = 1_000_000
_MOST_MICRO_USD = 10**12
_MOST_TOKENS = 2**31 - 1


class OpenRouterWire(OpenAIWire):
    """OpenRouter's API; the endpoint's headers name the owner's site and application."""

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        """Build the request body, with the reserved price as the maximum price of a vendor.

        Anthropic's models cache only up to marks, and writing costs more: they are marked if that
        price is known, and so part of the reservation.
        """
        body = super().to_wire(request, info, stream=stream)
        if effort := body.pop("reasoning_effort", None):
            # Its own word for what each vendor behind it says differently.
            body["reasoning"] = {"effort": effort}
        writes = info.price is not None and info.price.cache_write_per_million is not None
        if writes and request.model.startswith(_MARKED):
            _mark(body["messages"])
        return body if info.price is None else body | {"provider": _most(info.price)}

    def usage(self, body: dict[str, Any], party: ErrorParty) -> Usage:
        return super().usage(body, party).replaced(reported_micro_usd=_cost(body, party))

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        """Map an error.

        Credit held by running calls counts as a rate limit, since it is released soon.
        """
        found = error.openai_error(reply, party)
        wait = wire_retry_after(reply.headers)
        if found.fault is not Fault.QUOTA_SPENT or wait is None or not _is_in_flight(reply):
            return found
        return ModelCallFailed(found.message, Fault.RATE_LIMITED, retry_after_seconds=wait)

    def call_id(self, headers: Mapping[str, str]) -> str:
        return headers.get(_CALL_ID, "").strip()[:_LONGEST_ID]

    def usage_path(self, call_id: str) -> str:
        return f"/generation?id={quote(call_id, safe='')}"

    def usage_from_wire(self, body: Any) -> Usage | None:
        told = wire_dict(wire_dict(body).get("data"))
        cost = _generation_cost(told)
        if cost is None:
            return None
        return Usage(
            input_tokens=_tokens(told, "native_tokens_prompt"),
            output_tokens=_tokens(told, "native_tokens_completion"),
            cached_tokens=_tokens(told, "native_tokens_cached"),
            reasoning_tokens=_tokens(told, "native_tokens_reasoning"),
            reported_micro_usd=cost,
        )


def _mark(messages: list[dict[str, Any]]) -> None:
    """Mark the system prompt and the last message but one, before what changes every time."""
    places = {0, len(messages) - 2} if len(messages) > 1 else {0}
    for place in places:
        text = messages[place]["content"]
        if isinstance(text, str) and text and messages[place]["role"] != "tool":
            part = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
            messages[place]["content"] = [part]


def _generation_cost(told: dict[str, Any]) -> int | None:
    """Return a call's cost in micro-dollars, as `_cost` does for one that has an answer."""
    if as_wire_label(told.get("model")).endswith(_FREE):
        return 0
    cost = _micro_usd(told.get("total_cost"))
    if cost is None or told.get("is_byok") is not True:
        return cost
    upstream = _micro_usd(told.get("upstream_inference_cost"))
    return None if upstream is None else cost + upstream


def _tokens(told: dict[str, Any], name: str) -> int:
    count = told.get(name)
    return count if isinstance(count, int) and 0 <= count <= _MOST_TOKENS else 0


def _most(price: Price) -> dict[str, Any]:
    """Return the maximum price of a vendor, in dollars per million tokens."""
    most = {
        "prompt": _dollars(price.input_per_million),
        "completion": _dollars(price.output_per_million),
    }
    return {"max_price": most}


def _dollars(micro_usd: int) -> str:
    return f"{Decimal(micro_usd) / _MICRO:f}"


def _cost(body: dict[str, Any], party: ErrorParty) -> int | None:
    """Return the call's cost in micro-dollars, rounded up, with the vendor's share under BYOK.

    None if that share is not reported: the vendor bills it to the owner's own key.
    """
    if party.model.endswith(_FREE):
        return 0
    usage = wire_dict(body.get("usage"))
    cost = _micro_usd(usage.get("cost"))
    if cost is None or usage.get("is_byok") is not True:
        return cost
    upstream = _micro_usd(wire_dict(usage.get("cost_details")).get("upstream_inference_cost"))
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
    metadata = wire_dict(wire_dict(wire_dict(body).get("error")).get("metadata"))
    return metadata.get("limit_source") == _IN_FLIGHT
