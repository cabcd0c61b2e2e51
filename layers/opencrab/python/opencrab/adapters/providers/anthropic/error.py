"""Errors of Anthropic, sorted by what to do about them, from replies and from inside streams."""

from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire import refusal
from opencrab.adapters.providers.wire.lenient import (
    wire_dict,
    wire_retry_after,
    wire_retry_hint,
)
from opencrab.adapters.providers.wire.refusal import (
    is_wire_refusal_billed,
    wire_fault_of_status,
    wire_redirect_refusal,
    wire_refusal_body,
    wire_refusal_key_place,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TOO_LONG = (
    "prompt is too long",
    "exceed context limit",
    "exceed_context_size",
    "available context size",
    "request_too_large",
)
_UNPAID = (
    "credit balance is too low",
    "billing_error",
    "enforced_spend_limit_reached",
    "reached your specified",
)
_ADVICE = {
    Fault.AUTH: ("{name} refused the key in {where}", "check {where}"),
    Fault.QUOTA_SPENT: (
        "the account at {name} has no credit left",
        "add credit or raise the spend limit at the provider, or use another model",
    ),
    Fault.TOO_LONG: (
        "the request is too long for {model} of {name}",
        "send less, or use a model with a larger context",
    ),
    Fault.MODEL_GONE: (
        "{name} does not know the model {model!r} at this address",
        "check the model's name and the provider's base_url",
    ),
    Fault.RATE_LIMITED: ("rate limited by {name} (HTTP {status}{retry})", ""),
    Fault.OVERLOADED: ("{name} is overloaded", ""),
    Fault.BAD_REQUEST: ("{name} refused the request ({status})", ""),
}
_OTHERWISE = ("{name} failed ({status})", "")
_REQUEST, _SERVER, _BEYOND = 400, 500, 600


def anthropic_error(reply: Reply, party: ErrorParty) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200."""
    if moved := wire_redirect_refusal(reply, party):
        return moved
    return _provider_error(
        reply.status,
        wire_refusal_body(reply),
        party,
        final=reply.headers.get("x-should-retry", "").strip().lower() == "false",
        wait=wire_retry_after(reply.headers),
        billed=is_wire_refusal_billed(reply.status),
    )


def anthropic_stream_error(
    body: Any, party: ErrorParty, *, billed: bool | None = None
) -> ModelCallFailed:
    """Return the error inside a body or stream event that came with status code 200."""
    return _provider_error(
        _own_status(wire_dict(wire_dict(body).get("error"))), body, party, billed=billed
    )


def _own_status(error: dict[str, Any]) -> int:
    """Return the status code that an error stands for; llama.cpp puts it into `code`."""
    kind, code = error.get("type"), error.get("code")
    if isinstance(kind, str) and kind in _STATUS:
        return _STATUS[kind]
    return code if isinstance(code, int) and _REQUEST <= code < _BEYOND else _SERVER


def _provider_error(
    status: int,
    body: Any,
    party: ErrorParty,
    *,
    final: bool = False,
    wait: float | None = None,
    billed: bool | None = None,
) -> ModelCallFailed:
    error = wire_dict(body).get("error", body)
    fault = _fault(status, _marks(error), final=final)
    message, cure = _advice(fault, status, party, wait)
    return ModelCallFailed(
        f"{message}: {refusal.wire_vendor_message(_error_message(error))}",
        fault,
        cure=cure,
        billed=billed,
        retry_after_seconds=wait,
    )


def _fault(status: int, marks: str, *, final: bool) -> Fault:
    if status >= _SERVER:
        return wire_fault_of_status(status)
    if any(mark in marks for mark in _UNPAID):
        return Fault.QUOTA_SPENT
    if any(mark in marks for mark in _TOO_LONG):
        return Fault.TOO_LONG
    fault = wire_fault_of_status(status)
    return Fault.QUOTA_SPENT if final and fault is Fault.RATE_LIMITED else fault


def _advice(
    fault: Fault, status: int, party: ErrorParty, wait: float | None
) -> tuple[str, str | None]:
    """Return message and cure for a fault; the cure is None if the owner can do nothing."""
    happened, cure = _ADVICE.get(fault, _OTHERWISE)
    names = {
        "name": party.provider,
        "model": party.model or "the model",
        "where": wire_refusal_key_place(party),
        "status": status,
        "retry": wire_retry_hint(wait),
    }
    return happened.format(**names), cure.format(**names) or None


def _error_message(error: Any) -> Any:
    message = wire_dict(error).get("message")
    return message if isinstance(message, str) and message.strip() else error


def _marks(error: Any) -> str:
    """Join the fields that tell an error's kind, in lower case."""
    if not isinstance(error, dict):
        return error.lower() if isinstance(error, str) else ""
    code = wire_dict(error.get("details")).get("error_code")
    fields = (error.get("type"), error.get("message"), code)
    return " ".join(field for field in fields if isinstance(field, str)).lower()
