"""Errors of Bedrock, sorted by what to do about them: by AWS's error type, then by words."""

from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.lenient import wire_dict, wire_retry_after
from opencrab.adapters.providers.wire.refusal import (
    wire_fault_of_status,
    wire_redirect_refusal,
    wire_refusal_body,
    wire_refusal_key_place,
    wire_vendor_message,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_BY_TYPE = {
    "accessdenied": Fault.AUTH,
    "expiredtoken": Fault.AUTH,
    "incompletesignature": Fault.AUTH,
    "internalserver": Fault.SERVER_ERROR,
    "invalidsignature": Fault.AUTH,
    "missingauthenticationtoken": Fault.AUTH,
    "modelerror": Fault.SERVER_ERROR,
    "modelnotready": Fault.OVERLOADED,
    "modelstreamerror": Fault.SERVER_ERROR,
    "modeltimeout": Fault.TIMEOUT,
    "optinrequired": Fault.AUTH,
    "resourcenotfound": Fault.MODEL_GONE,
    "servicequotaexceeded": Fault.QUOTA_SPENT,
    "serviceunavailable": Fault.OVERLOADED,
    "throttling": Fault.RATE_LIMITED,
    "toomanyrequests": Fault.RATE_LIMITED,
    "unrecognizedclient": Fault.AUTH,
    "validation": Fault.BAD_REQUEST,
}
_BY_WORDS = (
    (
        Fault.TOO_LONG,
        (
            "input is too long", "input tokens exceeded", "prompt is too long",
            "too many input tokens",
            "exceeds maximum length", "exceed context limit", "maximum context length",
            "exceeds the maximum number of tokens", "context window",
        ),
    ),
    (Fault.BLOCKED, ("content filter", "blocked by", "guardrail blocked")),
    (
        Fault.MODEL_GONE,
        (
            "model identifier is invalid", "on-demand throughput isn", "model is not supported in",
            "end of its life", "legacy", "could not resolve the foundation model",
        ),
    ),
    (Fault.QUOTA_SPENT, ("tokens per day", "too many tokens per day")),
    (Fault.AUTH, ("security token", "operation not allowed", "api key")),
)  # fmt: skip
_SIGNED = "The Canonical String"
_WORDS_DECIDE = frozenset({Fault.BAD_REQUEST, Fault.RATE_LIMITED, Fault.SERVER_ERROR})
_SENTENCES = {
    Fault.AUTH: "AWS refused the role, profile or {key} of {party.provider}: {told}",
    Fault.QUOTA_SPENT: "a quota of the AWS account is used up: {told}",
    Fault.TOO_LONG: "the request is too long for {party.model} of {party.provider}: {told}",
    Fault.MODEL_GONE: "{party.provider} does not offer {party.model} here: {told}",
    Fault.BLOCKED: "{party.provider} rejected the request because of its content policy: {told}",
    Fault.RATE_LIMITED: "rate limited by {party.provider}: {told}",
    Fault.OVERLOADED: "{party.provider} is overloaded: {told}",
    Fault.TIMEOUT: "{party.model} of {party.provider} took too long: {told}",
    Fault.BAD_REQUEST: "{party.provider} refused the request: {told}",
}
_CURES = {
    Fault.AUTH: "check the AWS credentials (the function's role, the profile, or {key}), that they "
    "may call bedrock:InvokeModel for this model, and the model's access in the Bedrock console",
    Fault.QUOTA_SPENT: "raise the quota in Service Quotas, or use another model",
    Fault.TOO_LONG: "send less, or use a model with a larger context",
    Fault.MODEL_GONE: "check the model's ID and the region; many models need an inference profile, "
    "such as us.amazon.nova-2-lite-v1:0",
    Fault.BLOCKED: "rephrase the request, or use another model",
}


def bedrock_error(reply: Reply, party: ErrorParty) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200."""
    if moved := wire_redirect_refusal(reply, party):
        return moved
    body = wire_refusal_body(reply)
    kind = reply.headers.get("x-amzn-errortype") or wire_dict(body).get("__type") or ""
    found = bedrock_error_of_body(body, party, kind=str(kind), status=reply.status)
    if found.retry_after_seconds is None:
        found.retry_after_seconds = wire_retry_after(reply.headers)
    return found


def bedrock_error_of_body(
    body: Any, party: ErrorParty, *, kind: str, status: int = 0, billed: bool | None = None
) -> ModelCallFailed:
    """Return the error in a body; `kind` is AWS's type of it, also from within a stream."""
    fields = wire_dict(body)
    words = fields.get("message") or fields.get("Message") or fields.get("originalMessage") or body
    told = wire_vendor_message(words)
    # A refused signature is explained with the headers that were sent, also the session token.
    told = told.partition(_SIGNED)[0].rstrip() or "the signature does not match"
    fault = _fault(kind, status, told.lower())
    sentence = _SENTENCES.get(fault, "{party.provider} failed: {told}")
    cure, key = _CURES.get(fault), wire_refusal_key_place(party)
    return ModelCallFailed(
        sentence.format(party=party, key=key, told=f"({status}) {told}" if status else told),
        fault,
        cure=cure and cure.format(key=key),
        billed=billed,
    )


def _fault(kind: str, status: int, told: str) -> Fault:
    """Return the fault; the type is the part before a colon and after a `#`."""
    name = kind.partition(":")[0].rpartition("#")[2].lower()
    fault = _BY_TYPE.get(name.removesuffix("exception"))
    if fault is None:
        fault = wire_fault_of_status(status) if status else Fault.SERVER_ERROR
    if fault in _WORDS_DECIDE:
        by_words = (found for found, words in _BY_WORDS if any(word in told for word in words))
        fault = next(by_words, fault)
    return fault
