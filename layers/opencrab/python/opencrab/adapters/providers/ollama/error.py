"""Errors of Ollama, sorted by what to do about them; all that it says is one sentence."""

from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire import refusal
from opencrab.adapters.providers.wire.lenient import wire_dict
from opencrab.adapters.providers.wire.refusal import (
    wire_fault_of_status,
    wire_refusal_key_place,
    wire_refusal_of_reply,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_BY_WORDS = (
    (
        Fault.TOO_LONG,
        (
            "exceeds the context length",
            "exceeds maximum context length",
            "exceeded max context length",
            "exceeds the available context size",
            "context length exceeded",
            "prompt is too long",
            "prompt too long",
        ),
    ),
    (Fault.QUOTA_SPENT, ("usage limit", "requires a subscription", "upgrade for access")),
    (Fault.NONSENSE, ("error parsing tool call", "tool call parsing failed")),
    (Fault.OVERLOADED, ("server busy", "maximum pending requests")),
    (Fault.AUTH, ("unauthorized",)),
)
_OTHERS = {504: Fault.TIMEOUT}
_NO_ACTIONS = "does not support tools"
_SENTENCES = {
    Fault.AUTH: "{provider} refused the key: {told}",
    Fault.TOO_LONG: "the request is too long for {model} of {provider}: {told}",
    Fault.QUOTA_SPENT: "the quota at {provider} is used up: {told}",
    Fault.RATE_LIMITED: "rate limited by {provider}{status}: {told}",
    Fault.OVERLOADED: "{provider} is busy: {told}",
    Fault.NONSENSE: "{provider} could not parse the output of its model {model}: {told}",
    Fault.BAD_REQUEST: "{provider} refused the request: {told}",
    Fault.MODEL_GONE: "{provider} is not at this address: {told}",
}
_CURES = {
    Fault.AUTH: "check {key}",
    Fault.TOO_LONG: "send less, or give the model a larger context",
    Fault.QUOTA_SPENT: "wait until the quota resets, or use another model",
    Fault.OVERLOADED: "wait, or raise OLLAMA_MAX_QUEUE on the server",
    Fault.MODEL_GONE: "set base_url to the address of the Ollama server itself",
}


def ollama_error_of_reply(reply: Reply, party: ErrorParty) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200."""
    return wire_refusal_of_reply(reply, party, ollama_error_of_body)


def ollama_error_of_body(
    body: Any, party: ErrorParty, *, status: int = 0, billed: bool | None = None
) -> ModelCallFailed:
    """Return the error in a body or stream line; without a status code, judge by its words."""
    told = _error_message(body)
    words = told.lower()
    if "model" in words and ("not found" in words or "try pulling it" in words):
        return _missing(told, party)
    if _NO_ACTIONS in words:
        return _without_actions(told, party)
    fault = _by_words(words) or wire_fault_of_status(status, _OTHERS)
    names = {
        "provider": party.provider,
        "model": party.model or "the model",
        "key": wire_refusal_key_place(party),
        "told": told,
        "status": f" (HTTP {status})" if status else "",
    }
    sentence = _SENTENCES.get(fault, "{provider} failed: {told}")
    cure = _CURES.get(fault)
    return ModelCallFailed(
        sentence.format(**names), fault, cure=cure and cure.format(**names), billed=billed
    )


def _missing(told: str, party: ErrorParty) -> ModelCallFailed:
    name = party.model
    return ModelCallFailed(
        f"{party.provider} does not have the model {name!r}: {told}",
        Fault.MODEL_GONE,
        cure=f"run `ollama pull {name}` on the server, or choose a model from `ollama list`",
    )


def _without_actions(told: str, party: ErrorParty) -> ModelCallFailed:
    return ModelCallFailed(
        f"the model {party.model!r} of {party.provider} cannot use actions: {told}",
        Fault.BAD_REQUEST,
        cure="choose a model that ollama.com marks with 'tools'",
    )


def _by_words(words: str) -> Fault | None:
    return next((fault for fault, marks in _BY_WORDS if any(mark in words for mark in marks)), None)


def _error_message(body: Any) -> str:
    """Return Ollama's message, unwrapped from the form of its compatible APIs."""
    error = wire_dict(body).get("error") or body
    return refusal.wire_vendor_message(wire_dict(error).get("message") or error)
