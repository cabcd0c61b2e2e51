"""Answers of OpenAI-shaped servers: each is a ModelAnswer, or raises ModelCallFailed."""

import json
from collections.abc import Callable
from typing import Any

from opencrab.adapters.providers.openai.error import openai_error_within
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
from opencrab.domain.value import is_json_value

Counting = Callable[[dict[str, Any], ErrorParty], Usage]
"""Reads the usage of a body or of a chunk."""

REPLAY_BYTES = 256 * 1024
"""Most that is kept to be sent back with the next request of the turn."""

_NOBODY = ErrorParty()
_CUT = "length"
_FILTERED = "content_filter"
_FAILED = "error"


def openai_usage(body: dict[str, Any], party: ErrorParty) -> Usage:  # noqa: ARG001  - one kind of function
    """Return token counts; what `total_tokens` holds beyond the prompt counts as output.

    Only audio that Mistral was sent is counted in the total, but in neither part: it is input.
    """
    counted = wire_dict(body.get("usage"))
    details = wire_dict(counted.get("prompt_tokens_details"))
    tokens_in = wire_token_count(counted.get("prompt_tokens"))
    if details.get("audio_tokens") or counted.get("prompt_audio_seconds"):
        tokens_in += _audio_apart(counted, details)
    beyond = wire_token_count(counted.get("total_tokens")) - tokens_in
    cached = details.get("cached_tokens")
    if cached is None:
        cached = counted.get("prompt_cache_hit_tokens")
    cached = min(wire_token_count(cached), tokens_in)
    thinking = wire_dict(counted.get("completion_tokens_details")).get("reasoning_tokens")
    tokens_out = max(wire_token_count(counted.get("completion_tokens")), beyond)
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cached_tokens=cached,
        cache_write_tokens=min(
            wire_token_count(details.get("cache_write_tokens")), tokens_in - cached
        ),
        reasoning_tokens=min(wire_token_count(thinking), tokens_out),
    )


def _audio_apart(counted: dict[str, Any], details: dict[str, Any]) -> int:
    """Return the tokens of audio input that `prompt_tokens` does not include."""
    parts = (counted.get("prompt_tokens"), counted.get("completion_tokens"))
    apart = max(
        wire_token_count(counted.get("total_tokens")) - sum(map(wire_token_count, parts)), 0
    )
    if wire_token_count(counted.get("prompt_audio_seconds")):
        return apart
    return min(wire_token_count(details.get("audio_tokens")), apart)


def openai_answer(
    body: Any, party: ErrorParty = _NOBODY, counting: Counting = openai_usage
) -> ModelAnswer:
    """Convert a chat completion to a model answer.

    Lenient where servers are known to deviate. Raises ModelCallFailed if the body holds an error or
    no answer, or if the finish reason says that the answer failed or was filtered.
    """
    counted = counting(wire_dict(body), party)
    choice = _first_choice(body, party, counted)
    message = wire_dict(choice.get("message"))
    words = repair_wire_text(_content(message)).strip()
    finish = as_wire_label(choice.get("finish_reason"))
    calls = _calls(message, cut=finish == _CUT)
    if finish == _FAILED or (finish == _FILTERED and not words and not calls):
        raise openai_error_within(finish, party, usage=counted, began=True)
    thought = Reflection(judgment=_reasoning(message), intent=words if calls else "")
    return ModelAnswer(
        text="" if calls else words,
        calls=calls,
        thought=thought if thought.judgment or thought.intent else None,
        model=as_wire_label(wire_dict(body).get("model")) or party.model,
        finish=finish,
        usage=counted,
        replay=_replay(message, party),
    )


def _first_choice(body: Any, party: ErrorParty, counted: Usage) -> dict[str, Any]:
    """Return the first choice; raise ModelCallFailed for an error or a malformed body."""
    choices = wire_list(wire_dict(body).get("choices"))
    choice = wire_dict(choices[0]) if choices else {}
    error = wire_dict(body).get("error") or choice.get("error")
    if error:
        raise openai_error_within(error, party, usage=counted)
    if isinstance(choice.get("message"), dict) or choice.get("finish_reason") == _FILTERED:
        return choice
    lacking = "has no choices with a message" if isinstance(body, dict) else "is not a JSON object"
    raise ModelCallFailed(
        f"the answer of {party.provider} {lacking}: {wire_json_excerpt(body)}",
        Fault.NONSENSE,
        usage=counted if counted.is_counted else None,
    )


def text_of_openai_parts(parts: list[Any]) -> str:
    """Join the texts of a content that came as a list of parts."""
    texts = (wire_dict(part).get("text") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def thinking_of_openai_parts(parts: list[Any]) -> str:
    """Join the thinking of a content that came as a list of parts, as Mistral sends it."""
    thoughts = (wire_dict(part).get("thinking") for part in parts)
    return "".join(
        text_of_openai_parts(thought) if isinstance(thought, list) else thought
        for thought in thoughts
        if isinstance(thought, list | str)
    )


def _thinking_parts(message: dict[str, Any]) -> str:
    content = message.get("content")
    return thinking_of_openai_parts(content) if isinstance(content, list) else ""


def _content(message: dict[str, Any]) -> str:
    """Return a message's text, which may come as a string, as parts, or as a refusal."""
    content = message.get("content")
    if isinstance(content, list):
        content = text_of_openai_parts(content)
    if isinstance(content, str) and content:
        return content
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _reasoning(message: dict[str, Any]) -> str:
    """Return a reasoning model's thinking; servers differ in the field's name."""
    for field in ("reasoning_content", "reasoning"):
        reasoning = message.get(field)
        if isinstance(reasoning, str) and reasoning.strip():
            return repair_wire_text(reasoning).strip()
    parts = _thinking_parts(message)
    return repair_wire_text(parts).strip() if parts else ""


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a message's tool calls, or the older single function_call."""
    entries = [wire_dict(entry) for entry in wire_list(message.get("tool_calls")) if entry]
    older = message.get("function_call")
    return [{"function": older}] if not entries and isinstance(older, dict) else entries


def _calls(message: dict[str, Any], *, cut: bool) -> tuple[ActionCall, ...]:
    entries = _entries(message)
    last = entries[-1] if cut and entries else None
    return tuple(
        _call(f"c{index}", entry, cut=entry is last) for index, entry in enumerate(entries)
    )


def _call(call_id: str, entry: dict[str, Any], *, cut: bool) -> ActionCall:
    """Convert a tool call; arguments that the token limit may have cut count as unreadable."""
    if "function" in entry:
        function = wire_dict(entry["function"])
        arguments = function.get("arguments")
    else:
        function = wire_dict(entry.get("custom"))
        arguments = function.get("input", entry)
    readable = (
        None if cut and are_wire_arguments_ambiguous(arguments) else wire_tool_arguments(arguments)
    )
    return ActionCall(
        id=call_id,
        name=as_wire_label(function.get("name")),
        arguments=readable,
        raw="" if readable is not None else raw_wire_tool_arguments(arguments),
    )


def _replay(message: dict[str, Any], party: ErrorParty) -> dict[str, Any] | None:
    """Return what the same model wants back: reasoning details, or reasoning before tool calls.

    Details refer to tool calls by the vendor's ids, which are kept with them. DeepSeek rejects tool
    results of calls without their reasoning. None if there is nothing, or it is too large.
    """
    entries = _entries(message)
    replay: dict[str, Any] = {"model": party.model}
    if wire_list(message.get("reasoning_details")):
        replay["reasoning_details"] = message["reasoning_details"]
        replay["ids"] = [as_wire_label(entry.get("id")) for entry in entries]
    elif entries and _thinking_parts(message):
        replay["content"] = message["content"]
    elif entries and _reasoning({"reasoning_content": message.get("reasoning_content")}):
        replay["reasoning_content"] = message["reasoning_content"]
    else:
        return None
    fits = is_json_value(replay) and len(json.dumps(replay)) <= REPLAY_BYTES
    return replay if fits else None
