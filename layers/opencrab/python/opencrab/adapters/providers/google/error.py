"""Errors of Google's API, sorted by what to do about them."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire import refusal
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    wire_dict,
    wire_duration_seconds,
    wire_list,
    wire_retry_hint,
)
from opencrab.adapters.providers.wire.refusal import (
    wire_fault_of_status,
    wire_refusal_key_place,
    wire_refusal_of_reply,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_TOO_LONG = (
    "exceeds the maximum number of tokens",
    "exceeds the maximum allowed number of tokens",
    "input token count exceeds",
    "payload size exceeds",
)
_UNPAID = ("credits are depleted", "spending cap", "spend cap", "enable billing", "billing account")
_BAD_KEY = ("api key not valid", "api key expired", "api_key_invalid", "api key was reported")
_BY_NAME = {
    "INVALID_ARGUMENT": Fault.BAD_REQUEST,
    "FAILED_PRECONDITION": Fault.BAD_REQUEST,
    "OUT_OF_RANGE": Fault.BAD_REQUEST,
    "UNIMPLEMENTED": Fault.BAD_REQUEST,
    "UNAUTHENTICATED": Fault.AUTH,
    "PERMISSION_DENIED": Fault.AUTH,
    "NOT_FOUND": Fault.MODEL_GONE,
    "RESOURCE_EXHAUSTED": Fault.RATE_LIMITED,
    "UNAVAILABLE": Fault.OVERLOADED,
    "DEADLINE_EXCEEDED": Fault.TIMEOUT,
    "INTERNAL": Fault.SERVER_ERROR,
    "UNKNOWN": Fault.SERVER_ERROR,
    "CANCELLED": Fault.SERVER_ERROR,
    "ABORTED": Fault.SERVER_ERROR,
    "DATA_LOSS": Fault.SERVER_ERROR,
}
_OTHERS = {499: Fault.SERVER_ERROR, 504: Fault.TIMEOUT}


def google_error_of_reply(reply: Reply, party: ErrorParty) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200."""
    return wire_refusal_of_reply(reply, party, google_error_of_body)


def google_error_of_body(
    body: Any,
    party: ErrorParty,
    *,
    status: int = 0,
    billed: bool | None = None,
) -> ModelCallFailed:
    """Return the error in a body; without a status code, judge by its own code or name."""
    body = body[0] if isinstance(body, list) and body else body
    error = wire_dict(body).get("error") or body
    details = [wire_dict(detail) for detail in wire_list(wire_dict(error).get("details"))]
    told = _error_message(error)
    fault = _fault(wire_dict(error), details, status, told.lower())
    return ModelCallFailed(
        _MESSAGES.get(fault, _OTHERWISE).format(
            party=party, told=told, retry=wire_retry_hint(_wait(details))
        ),
        fault,
        cure=_cure(fault, party),
        billed=billed,
        retry_after_seconds=_wait(details),
    )


def _fault(
    error: Mapping[str, Any], details: list[dict[str, Any]], status: int, told: str
) -> Fault:
    """Classify an error: by its message and details first, then by its name, then by its code."""
    reasons = [as_wire_label(detail.get("reason")).lower() for detail in details]
    if any(mark in told for mark in _TOO_LONG):
        return Fault.TOO_LONG
    if any(mark in told or mark in reasons for mark in _BAD_KEY):
        return Fault.AUTH
    if any(mark in told for mark in _UNPAID):
        return Fault.QUOTA_SPENT
    code = error.get("code")
    number = status or (code if isinstance(code, int) else 0)
    fault = _BY_NAME.get(as_wire_label(error.get("status"))) or wire_fault_of_status(
        number, _OTHERS
    )
    vain = fault is Fault.RATE_LIMITED and _waiting_is_vain(details)
    return Fault.QUOTA_SPENT if vain else fault


def _waiting_is_vain(details: list[dict[str, Any]]) -> bool:
    """Check whether an exhausted quota is per day or zero, so that a retry is pointless."""
    return any("PerDay" in name or limit == "0" for name, limit in _quotas(details))


def _quotas(details: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield name and limit of each quota in an error's details."""
    for detail in details:
        for violation in map(wire_dict, wire_list(detail.get("violations"))):
            yield as_wire_label(violation.get("quotaId")), str(violation.get("quotaValue", ""))
        metadata = wire_dict(detail.get("metadata"))
        yield as_wire_label(metadata.get("quota_limit")), str(metadata.get("quota_limit_value", ""))


def _wait(details: list[dict[str, Any]]) -> float | None:
    """Return the seconds to wait before a retry; Google sends them in the body, not a header."""
    delays = [wire_duration_seconds(detail.get("retryDelay")) for detail in details]
    return next((delay for delay in delays if delay is not None), None)


def _error_message(error: Any) -> str:
    return refusal.wire_vendor_message(
        wire_dict(error).get("message") or wire_dict(error).get("status") or error
    )


_OTHERWISE = "{party.provider} failed: {told}"
_MESSAGES = {
    Fault.AUTH: "{party.provider} refused the key: {told}",
    Fault.QUOTA_SPENT: "the quota or the credit at {party.provider} is used up: {told}",
    Fault.RATE_LIMITED: "rate limited by {party.provider} (HTTP 429){retry}: {told}",
    Fault.MODEL_GONE: "{party.provider} does not know the model {party.model!r}: {told}",
    Fault.TOO_LONG: "the request is too long for {party.model} of {party.provider}: {told}",
    Fault.BAD_REQUEST: "{party.provider} refused the request: {told}",
    Fault.OVERLOADED: "{party.provider} is overloaded: {told}",
}


def _cure(fault: Fault, party: ErrorParty) -> str | None:
    match fault:
        case Fault.AUTH:
            return f"check {wire_refusal_key_place(party)}"
        case Fault.QUOTA_SPENT:
            return "raise the quota or add credit at Google, or use another model"
        case Fault.MODEL_GONE:
            return "check the model's name and the provider's base_url"
        case Fault.TOO_LONG:
            return "send less, or use a model with a larger context"
        case _:
            return None
