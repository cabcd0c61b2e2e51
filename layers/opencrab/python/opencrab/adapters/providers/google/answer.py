"""Answers of Gemini: every body becomes a ModelAnswer, or raises ModelCallFailed."""

from typing import Any

from opencrab.adapters.providers.google.error import google_error_of_body
from opencrab.adapters.providers.google.request import REPLAY, google_model_id
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    raw_wire_tool_arguments,
    wire_dict,
    wire_json_excerpt,
    wire_list,
    wire_token_count,
    wire_tool_arguments,
)
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection

_REASONS = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
)
"""Reasons by the number that some of Google's servers send instead of the name."""

_WITHHELD = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
_PLAIN = frozenset({"STOP", "MAX_TOKENS"})
_SHOWN_LENGTH = 300
_REPLAY_LENGTH = 256 * 1024


def google_answer(body: Any, party: ErrorParty) -> ModelAnswer:
    """Convert a generateContent response to a model answer; raise ModelCallFailed for errors.

    Lenient where Google's servers are known to deviate.
    """
    if not isinstance(body, dict):
        raise ModelCallFailed(
            f"the answer of {party.provider} is not a JSON object: {_short_json_excerpt(body)}",
            Fault.NONSENSE,
        )
    if body.get("error"):
        raise google_error_of_body(body, party)
    usage = _usage(wire_dict(body.get("usageMetadata")))
    counted = usage if usage.is_counted else None
    candidate = google_candidate(body)
    if candidate is None:
        raise _no_candidate(body, party, counted)
    parts = [
        wire_dict(part) for part in wire_list(wire_dict(candidate.get("content")).get("parts"))
    ]
    finish = google_finish_reason(candidate.get("finishReason"))
    _check(candidate, parts, finish, party, counted)
    return _answer(parts, party).replaced(
        model=as_wire_label(body.get("modelVersion")) or party.model, finish=finish, usage=usage
    )


def google_candidate(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first candidate, as only one is requested; None without one."""
    candidates = wire_list(body.get("candidates"))
    return candidates[0] if candidates and isinstance(candidates[0], dict) else None


def google_part_says_something(part: Any) -> bool:
    """Check whether a part has text or a function call."""
    part = wire_dict(part)
    return bool(part.get("text")) or "functionCall" in part


def google_finish_reason(reason: Any) -> str:
    """Return the finish reason's name, also if it came as a number."""
    if isinstance(reason, int) and not isinstance(reason, bool):
        return _REASONS[reason] if 0 < reason < len(_REASONS) else "OTHER" if reason else ""
    return "" if reason == _REASONS[0] else as_wire_label(reason)


def _no_candidate(body: dict[str, Any], party: ErrorParty, usage: Usage | None) -> ModelCallFailed:
    """Return the error for a response without candidates: a blocked prompt, or malformed."""
    reason = google_block_reason(body)
    if reason:
        return _blocked_error(party, "the request", reason, usage)
    return ModelCallFailed(
        f"the answer of {party.provider} has no candidates: {_short_json_excerpt(body)}",
        Fault.NONSENSE,
        usage=usage,
    )


def google_block_reason(body: dict[str, Any]) -> str:
    """Return why a prompt was blocked; empty if it was not."""
    feedback = wire_dict(body.get("promptFeedback"))
    reason = feedback.get("blockReason") or ""
    words = as_wire_label(feedback.get("blockReasonMessage"))
    return words or (
        as_wire_label(reason) if isinstance(reason, str) else _short_json_excerpt(reason)
    )


def _check(
    candidate: dict[str, Any],
    parts: list[dict[str, Any]],
    finish: str,
    party: ErrorParty,
    usage: Usage | None,
) -> None:
    """Raise ModelCallFailed if a candidate's answer was blocked, malformed or empty."""
    said = any(
        google_part_says_something(part) for part in parts if part.get("thought") is not True
    )
    told = as_wire_label(candidate.get("finishMessage")) or finish
    if finish == "MALFORMED_FUNCTION_CALL" or (not said and finish.endswith("_TOOL_CALL")):
        message = f"{party.provider} returned a malformed function call: {told}"
        raise ModelCallFailed(message, Fault.NONSENSE, usage=usage)
    if said or finish in _PLAIN:
        return
    if finish in _WITHHELD:
        raise _blocked_error(party, "its own answer", told, usage)
    message = f"the answer of {party.provider} is empty: {told or _short_json_excerpt(candidate)}"
    raise ModelCallFailed(message, Fault.NONSENSE, usage=usage)


def _blocked_error(
    party: ErrorParty, what: str, reason: str, usage: Usage | None
) -> ModelCallFailed:
    return ModelCallFailed(
        f"{party.provider} blocked {what}: {reason or 'no reason given'}",
        Fault.BLOCKED,
        cure="rephrase the request, or use another model",
        usage=usage,
    )


def _answer(parts: list[dict[str, Any]], party: ErrorParty) -> ModelAnswer:
    """Build the answer from text, thought and functionCall parts, with data to send back."""
    texts, thoughts, calls, kept = [], [], list[ActionCall](), list[dict[str, str]]()
    text_signature = ""
    for part in parts:
        text, signature = part.get("text"), _opaque(part.get("thoughtSignature"))
        if "functionCall" in part:
            entry = wire_dict(part["functionCall"])
            calls.append(_call(f"c{len(calls)}", entry))
            kept.append(_keep(id=_opaque(entry.get("id")), signature=signature))
        elif part.get("thought") is True:
            thoughts.append(text if isinstance(text, str) else "")
        elif isinstance(text, str):
            texts.append(text)
            text_signature = signature or text_signature
    words = repair_wire_text("".join(texts)).strip()
    judgment = repair_wire_text("".join(thoughts)).strip()
    thought = Reflection(judgment=judgment, intent=words if calls else "")
    return ModelAnswer(
        text="" if calls else words,
        calls=tuple(calls),
        thought=thought if thought.judgment or thought.intent else None,
        replay=_replay(kept, "" if calls else text_signature, party),
    )


def _call(call_id: str, entry: dict[str, Any]) -> ActionCall:
    arguments = entry.get("args")
    readable = wire_tool_arguments(arguments)
    raw_text = "" if readable is not None else raw_wire_tool_arguments(arguments)
    return ActionCall(
        id=call_id, name=as_wire_label(entry.get("name")), arguments=readable, raw=raw_text
    )


def _replay(kept: list[dict[str, str]], text: str, party: ErrorParty) -> dict[str, Any] | None:
    """Return signatures and ids of calls, in order.

    None if there are none or they are too large.
    """
    size = sum(len(value) for fields in kept for value in fields.values()) + len(text)
    if not 0 < size <= _REPLAY_LENGTH:
        return None
    return {"of": REPLAY, "model": google_model_id(party.model), "calls": kept} | _keep(text=text)


def _keep(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _opaque(value: Any) -> str:
    """Return an id or signature unchanged; empty if a store could not preserve it."""
    return value if isinstance(value, str) and value.isascii() and "\x00" not in value else ""


def _usage(usage: dict[str, Any]) -> Usage:
    """Return token counts; what totalTokenCount holds beyond the input counts as output."""
    tokens_in = wire_token_count(usage.get("promptTokenCount")) + wire_token_count(
        usage.get("toolUsePromptTokenCount")
    )
    thoughts = wire_token_count(usage.get("thoughtsTokenCount"))
    beyond = wire_token_count(usage.get("totalTokenCount")) - tokens_in
    return Usage(
        input_tokens=tokens_in,
        output_tokens=max(wire_token_count(usage.get("candidatesTokenCount")) + thoughts, beyond),
        cached_tokens=min(wire_token_count(usage.get("cachedContentTokenCount")), tokens_in),
        reasoning_tokens=thoughts,
    )


def _short_json_excerpt(value: Any) -> str:
    return wire_json_excerpt(value)[:_SHOWN_LENGTH]
