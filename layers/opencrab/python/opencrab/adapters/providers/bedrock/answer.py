"""Answers of Bedrock's Converse API: each is a ModelAnswer, or raises ModelCallFailed."""

from typing import Any

from opencrab.adapters.providers.anthropic.answer import anthropic_answer
from opencrab.adapters.providers.wire.lenient import (
    wire_dict,
    wire_json_excerpt,
    wire_list,
    wire_token_count,
)
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer

Block = dict[str, Any]

_BLOCKED = {
    "guardrail_intervened": "a guardrail intervened",
    "content_filtered": "its content filter intervened",
}
_UNUSABLE = frozenset({"malformed_model_output", "malformed_tool_use"})
_LONG = "1h"


def bedrock_answer(body: Any, party: ErrorParty) -> ModelAnswer:
    """Convert a Converse response to a model answer.

    Raises ModelCallFailed if it has no message, or if a guardrail or filter withheld the answer,
    whose words are then the guardrail's.
    """
    content = wire_dict(wire_dict(wire_dict(body).get("output")).get("message")).get("content")
    if not isinstance(content, list):
        raise ModelCallFailed(
            f"the answer of {party.provider} has no message: {wire_json_excerpt(body)}",
            Fault.NONSENSE,
        )
    answer = anthropic_answer(
        {
            "model": party.model,
            "content": [part for block in content for part in _parts(wire_dict(block))],
            "stop_reason": body.get("stopReason"),
            "usage": _usage(wire_dict(body.get("usage"))),
        },
        party,
    )
    _check(answer, party)
    return answer


def _check(answer: ModelAnswer, party: ErrorParty) -> None:
    """Raise ModelCallFailed for a stop reason that says that there is no usable answer."""
    usage = answer.usage if answer.usage.is_counted else None
    if why := _BLOCKED.get(answer.finish):
        raise ModelCallFailed(
            f"{party.provider} blocked the answer of {party.model or 'the model'}: {why}",
            Fault.BLOCKED,
            cure="rephrase the request, or use another model or guardrail",
            billed=True,
            usage=usage,
        )
    if answer.finish in _UNUSABLE:
        message = f"{party.model or 'the model'} of {party.provider} failed: {answer.finish}"
        raise ModelCallFailed(message, Fault.NONSENSE, billed=True, usage=usage)


def _parts(block: Block) -> list[Block]:
    """Translate a content block; tools that ran at AWS, and unknown blocks, are left out."""
    if isinstance(block.get("text"), str):
        return [{"type": "text", "text": block["text"]}]
    if "citationsContent" in block:
        return _cited_texts(wire_dict(block["citationsContent"]))
    if "reasoningContent" in block:
        return _reasoning(wire_dict(block["reasoningContent"]))
    call = wire_dict(block.get("toolUse"))
    if "toolUse" in block and call.get("type") != "server_tool_use":
        named = {"id": call.get("toolUseId"), "name": call.get("name")}
        return [{"type": "tool_use", **named, "input": call.get("input")}]
    return []


def _cited_texts(cited: Block) -> list[Block]:
    texts = (wire_dict(part).get("text") for part in wire_list(cited.get("content")))
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str)]


def _reasoning(reasoning: Block) -> list[Block]:
    if "redactedContent" in reasoning:
        return [{"type": "redacted_thinking", "data": reasoning["redactedContent"]}]
    text = wire_dict(reasoning.get("reasoningText"))
    return [
        {"type": "thinking", "thinking": text.get("text"), "signature": text.get("signature") or ""}
    ]


def _usage(usage: Block) -> Block:
    """Translate token counts; `inputTokens` excludes what was read from and written to a cache."""
    written = wire_token_count(usage.get("cacheWriteInputTokens"))
    details = [wire_dict(each) for each in wire_list(usage.get("cacheDetails"))]
    long = sum(
        wire_token_count(each.get("inputTokens")) for each in details if each.get("ttl") == _LONG
    )
    return {
        "input_tokens": usage.get("inputTokens"),
        "output_tokens": usage.get("outputTokens"),
        "cache_read_input_tokens": usage.get("cacheReadInputTokens"),
        "cache_creation_input_tokens": written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": max(written - long, 0),
            "ephemeral_1h_input_tokens": min(long, written),
        },
    }
