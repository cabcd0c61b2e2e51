"""Answers of Anthropic-shaped servers: each is a ModelAnswer, or raises ModelCallFailed."""

from typing import Any

from opencrab.adapters.providers.anthropic.error import anthropic_stream_error
from opencrab.adapters.providers.anthropic.replay import (
    anthropic_blocks_to_replay,
    anthropic_tool_name,
)
from opencrab.adapters.providers.wire.lenient import (
    are_wire_arguments_ambiguous,
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

_CUT = "max_tokens"
_REFUSED = "refusal"
_FULL = "model_context_window_exceeded"


def anthropic_answer(body: Any, party: ErrorParty) -> ModelAnswer:
    """Convert a message of the Messages API to a model answer.

    Lenient where servers are known to deviate. Raises ModelCallFailed if the body holds an error or
    no message, if the model refused, or if the context window was full.
    """
    blocks = _blocks(body, party)
    finish = as_wire_label(body.get("stop_reason"))
    usage = _usage(wire_dict(body.get("usage")))
    words = repair_wire_text(_join_blocks(blocks, "text", "")).strip()
    calls = () if finish == _REFUSED else _calls(blocks, cut=finish == _CUT)
    if finish == _FULL:
        raise _full(party, usage)
    if finish == _REFUSED and not words:
        raise _refusal_error(body, party, usage)
    judgment = _thinking_text(blocks)
    intent = words if calls else ""
    return ModelAnswer(
        text="" if calls else words,
        calls=calls,
        thought=Reflection(judgment=judgment, intent=intent) if judgment or intent else None,
        model=as_wire_label(body.get("model")),
        finish=finish,
        usage=usage,
        replay=anthropic_blocks_to_replay(blocks, anthropic_tool_name(party.model))
        if calls
        else None,
    )


def _blocks(body: Any, party: ErrorParty) -> list[dict[str, Any]]:
    """Return a message's content blocks; raise ModelCallFailed for an error or a malformed body."""
    if not isinstance(body, dict):
        found = wire_json_excerpt(body)
        problem = f"the answer of {party.provider} is not a JSON object: {found}"
        raise ModelCallFailed(problem, Fault.NONSENSE)
    if body.get("error") or body.get("type") == "error":
        raise anthropic_stream_error(body, party)
    content = body.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise ModelCallFailed(
            f"the answer has no content: {wire_json_excerpt(body)}", Fault.NONSENSE
        )
    return [wire_dict(block) for block in wire_list(content)]


def _join_blocks(blocks: list[dict[str, Any]], kind: str, between: str) -> str:
    """Join the texts of all blocks of one type; the field has the type's name."""
    words = (block.get(kind) for block in blocks if block.get("type") == kind)
    return between.join(text for text in words if isinstance(text, str) and text)


def _thinking_text(blocks: list[dict[str, Any]]) -> str:
    return repair_wire_text(_join_blocks(blocks, "thinking", "\n")).strip()


def _calls(blocks: list[dict[str, Any]], *, cut: bool) -> tuple[ActionCall, ...]:
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    last = blocks[-1] if cut and blocks else None
    return tuple(_call(f"c{place}", use, cut=use is last) for place, use in enumerate(uses))


def _call(call_id: str, use: dict[str, Any], *, cut: bool) -> ActionCall:
    """Convert a tool_use block; arguments that the token limit may have cut count as unreadable."""
    arguments = use.get("input")
    readable = (
        None if cut and are_wire_arguments_ambiguous(arguments) else wire_tool_arguments(arguments)
    )
    kept = "" if readable is not None else raw_wire_tool_arguments(arguments)
    return ActionCall(id=call_id, name=as_wire_label(use.get("name")), arguments=readable, raw=kept)


def _usage(usage: dict[str, Any]) -> Usage:
    """Return token counts; our input_tokens include cache reads and writes, Anthropic's do not.

    Cache writes of unknown lifetime count as one-hour writes, the dearer kind.
    """
    cached = wire_token_count(usage.get("cache_read_input_tokens"))
    parts = wire_dict(usage.get("cache_creation"))
    short = wire_token_count(parts.get("ephemeral_5m_input_tokens"))
    long = wire_token_count(parts.get("ephemeral_1h_input_tokens"))
    long = max(long, wire_token_count(usage.get("cache_creation_input_tokens")) - short)
    output = wire_token_count(usage.get("output_tokens"))
    thinking = wire_token_count(
        wire_dict(usage.get("output_tokens_details")).get("thinking_tokens")
    )
    return Usage(
        input_tokens=wire_token_count(usage.get("input_tokens")) + cached + short + long,
        output_tokens=output,
        cached_tokens=cached,
        cache_write_tokens=short,
        cache_write_long_tokens=long,
        reasoning_tokens=min(thinking, output),
    )


def _full(party: ErrorParty, usage: Usage) -> ModelCallFailed:
    return ModelCallFailed(
        f"the context of {party.model or 'the model'} of {party.provider} ended before its answer",
        Fault.TOO_LONG,
        cure="send less, or use a model with a larger context",
        billed=True,
        usage=usage if usage.is_counted else None,
    )


def _refusal_error(body: dict[str, Any], party: ErrorParty, usage: Usage) -> ModelCallFailed:
    details = wire_dict(body.get("stop_details"))
    why = (
        as_wire_label(details.get("explanation"))
        or as_wire_label(details.get("category"))
        or "no reason given"
    )
    return ModelCallFailed(
        f"{party.model or 'the model'} of {party.provider} refused to answer: {why}",
        Fault.BLOCKED,
        cure="rephrase the request, or use another model",
        billed=True,
        usage=usage if usage.is_counted else None,
    )
