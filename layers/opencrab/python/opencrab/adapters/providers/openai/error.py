"""Errors of OpenAI-shaped servers, sorted by what to do about them."""

import re
from collections.abc import Mapping
from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply, response_excerpt
from opencrab.adapters.providers.wire import refusal
from opencrab.adapters.providers.wire.lenient import (
    wire_dict,
    wire_duration_seconds,
    wire_json_excerpt,
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
from opencrab.domain.money.budget import Usage

_BAD_REQUEST = 400
_NO_STATUS = 600
_TOLD_LENGTH = 500
_MARKS_LENGTH = 4_000
_RESET = re.compile(r"x-ratelimit-reset-(.+)")

_BY_WORDS = (
    (
        Fault.TOO_LONG,
        (
            "context_length_exceeded", "exceed_context_size", "maximum context length",
            "max context length", "available context size", "prompt is too long",
            "prompt too long", "string_above_max_length", "request too large",
            "input is too long", "maximum prompt length", "context window",
            "total length of all messages is too long",
        ),
    ),
    (
        Fault.QUOTA_SPENT,
        (
            "insufficient_quota", "insufficient credits", "insufficient balance",
            "exceeded your current quota", "billing_hard_limit", "billing_not_active",
            "key limit exceeded", "spending limit", "used all available credits",
            "have any credits",
        ),
    ),
    (Fault.AUTH, ("incorrect api key", "invalid_api_key")),
    (
        Fault.BLOCKED,
        (
            "content_filter", "content_policy", "responsibleaipolicy", "content management policy",
            "input was flagged", "invalid_prompt", "content exists risk",
        ),
    ),
    (
        Fault.MODEL_GONE,
        (
            "model_not_found", "deploymentnotfound", "model not exist", "model not found",
            "not a valid model id", "no endpoints found", "model_deprecated", "unknown_model",
        ),
    ),
    (Fault.NONSENSE, ("tool_use_failed",)),
)  # fmt: skip
_OTHERS = {
    409: Fault.RATE_LIMITED,
    410: Fault.MODEL_GONE,
    425: Fault.RATE_LIMITED,
}
_WORDS_DECIDE = {400, 403, 404, 413, 422, 429}
"""Where a status may mean many things; elsewhere it knows better than what some text mentions."""

_WITHOUT_STATUS = (
    (Fault.OVERLOADED, ("overloaded", "unavailable")),
    (Fault.RATE_LIMITED, ("rate_limit", "rate limit", "too many requests")),
    (Fault.AUTH, ("authentication", "invalid_api_key", "permission")),
    (Fault.BAD_REQUEST, ("invalid_request", "unsupported")),
)
_SENTENCES = {
    Fault.AUTH: ("{provider} refused the key in {key}: {told}", "check {key}"),
    Fault.QUOTA_SPENT: (
        "the account at {provider} has no credit or quota left: {told}",
        "add credit at the provider, or use another model",
    ),
    Fault.TOO_LONG: (
        "the request is too long for {model} of {provider}: {told}",
        "send less, or use a model with a larger context",
    ),
    Fault.MODEL_GONE: (
        "{provider} does not know the model {model} at this address: {told}",
        "check the model's name and the provider's base_url",
    ),
    Fault.BLOCKED: (
        "{provider} rejected the request because of its content policy: {told}",
        "rephrase the request, or use another model",
    ),
    Fault.RATE_LIMITED: ("rate limited by {provider}{status}{retry}: {told}", None),
    Fault.OVERLOADED: ("{provider} is overloaded: {told}", None),
    Fault.TIMEOUT: ("{provider} timed out waiting for the request: {told}", None),
    Fault.NONSENSE: ("{provider} returned an unusable answer: {told}", None),
    Fault.BAD_REQUEST: ("{provider} refused the request: {told}", None),
}


def openai_error(reply: Reply, party: ErrorParty) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200."""
    if moved := wire_redirect_refusal(reply, party):
        return moved
    error = _error_in(reply)
    by_words = _by_words(_BY_WORDS, error) if reply.status in _WORDS_DECIDE else None
    fault = by_words or _by_status(reply.status, error)
    if fault is Fault.RATE_LIMITED and reply.headers.get("x-should-retry") == "false":
        fault = Fault.QUOTA_SPENT
    return _provider_error(
        fault,
        _error_message(error),
        party,
        status=reply.status,
        billed=is_wire_refusal_billed(reply.status),
        wait=_wait(reply.headers, error),
    )


def openai_error_within(
    error: Any, party: ErrorParty, *, usage: Usage, began: bool = False
) -> ModelCallFailed:
    """Return the error that came with status code 200, in a body or within a stream.

    It is classified by known words, or else by the status in its `code`.
    """
    return _provider_error(
        _by_words(_BY_WORDS, error) or _by_code(error),
        _error_message(error),
        party,
        billed=True if began or usage.is_counted else None,
        wait=_wait({}, error),
        usage=usage if usage.is_counted else None,
    )


def _provider_error(
    fault: Fault,
    told: str,
    party: ErrorParty,
    *,
    billed: bool | None,
    wait: float | None,
    status: int | None = None,
    usage: Usage | None = None,
) -> ModelCallFailed:
    sentence, cure = _SENTENCES.get(fault, ("{provider} failed: {told}", None))
    names = {
        "provider": party.provider,
        "model": repr(party.model) if party.model else "the model",
        "key": wire_refusal_key_place(party),
        "status": "" if status is None else f" (HTTP {status})",
        "retry": wire_retry_hint(wait),
    }
    if status is not None and fault is not Fault.RATE_LIMITED:
        told = f"({status}) {told}"
    return ModelCallFailed(
        sentence.format(**names, told=told),
        fault,
        cure=cure and cure.format(**names),
        billed=billed,
        retry_after_seconds=wait if fault in {Fault.RATE_LIMITED, Fault.OVERLOADED} else None,
        usage=usage,
    )


def _by_status(status: int, error: Any) -> Fault:
    if status < _BAD_REQUEST:
        return Fault.NONSENSE
    fault = wire_fault_of_status(status, _OTHERS)
    busy = fault is Fault.SERVER_ERROR and "overloaded" in _marks(error)
    return Fault.OVERLOADED if busy else fault


def _by_code(error: Any) -> Fault:
    code = wire_dict(error).get("code")
    if isinstance(code, str) and len(code) == 3 and code.isdecimal():  # noqa: PLR2004
        code = int(code)
    if isinstance(code, int) and _BAD_REQUEST <= code < _NO_STATUS:
        return _by_status(code, error)
    return _by_words(_WITHOUT_STATUS, error) or Fault.SERVER_ERROR


def _by_words(table: tuple[tuple[Fault, tuple[str, ...]], ...], error: Any) -> Fault | None:
    marks = _marks(error)
    return next((fault for fault, words in table if any(word in marks for word in words)), None)


def _wait(headers: Mapping[str, str], error: Any) -> float | None:
    """Return the seconds to wait before a retry, from headers or body; None if unknown."""
    inner = wire_dict(wire_dict(wire_dict(error).get("metadata")).get("headers"))
    quoted = {str(name).lower(): value for name, value in inner.items() if isinstance(value, str)}
    told = wire_retry_after(headers)
    told = wire_retry_after(quoted) if told is None else told
    return _until_reset(headers) if told is None else told


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the exhausted limits reset, or all limits if none is exhausted."""
    resets = {
        found.group(1): time
        for name, value in headers.items()
        if (found := _RESET.fullmatch(name)) and (time := wire_duration_seconds(value)) is not None
    }
    spent = [
        time
        for name, time in resets.items()
        if headers.get(f"x-ratelimit-remaining-{name}", "").strip() == "0"
    ]
    return max(spent or resets.values(), default=None)


def _error_in(reply: Reply) -> Any:
    """Return a response's error object, or the beginning of its body."""
    body = wire_refusal_body(reply)
    return wire_dict(body).get("error") or body or response_excerpt(reply.body) or "no explanation"


def _error_message(error: Any) -> str:
    """Return the provider's message on one line, with the upstream error that it wraps."""
    behind = wire_dict(wire_dict(error).get("metadata")).get("raw")
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code") or error
    text = error if isinstance(error, str) else wire_json_excerpt(error)
    return refusal.wire_vendor_message(
        f"{text[:_TOLD_LENGTH]}: {behind}" if isinstance(behind, str) else text
    )


def _marks(error: Any) -> str:
    """Join the fields that tell an error's kind, in lower case."""
    if not isinstance(error, dict):
        return error.lower()[:_MARKS_LENGTH] if isinstance(error, str) else ""
    fields = [error.get(field) for field in ("code", "type", "message")]
    fields.append(wire_dict(error.get("metadata")).get("raw"))
    fields.append(wire_dict(error.get("innererror")).get("code"))
    return " ".join(field[:_MARKS_LENGTH] for field in fields if isinstance(field, str)).lower()
