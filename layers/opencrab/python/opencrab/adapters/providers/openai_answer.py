"""Answers of OpenAI-shaped servers: whatever arrives becomes an Answer or an OpenCrabError."""

import json
from typing import Any

from opencrab.adapters.providers.openai_error import failure
from opencrab.adapters.providers.text import cleaned, repaired, sort_blocks
from opencrab.adapters.providers.transport import excerpt
from opencrab.domain.errors import Unavailable
from opencrab.domain.money import Usage
from opencrab.domain.record import Answer, Call, Reflection

RAW_BYTES = 4_096
"""How much of unreadable arguments is kept, so that the model can be shown its mistake."""

_MOST_TOKENS = 2**31 - 1
_LABEL_LENGTH = 200


def parse(body: bytes) -> Any:
    """The JSON of a reply's body, leading white space and byte order marks allowed.

    Raises Unavailable, with the beginning of what came, when it is none.
    """
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise Unavailable(f"the answer is not JSON: {excerpt(body)!r}") from None


def from_wire(body: Any) -> Answer:
    """The answer that a chat completion carries.

    Lenient wherever servers are known to be careless; raises an OpenCrabError when the body holds
    an error instead, or no answer at all.
    """
    choice = _first_choice(body)
    message = _mapping(choice.get("message"))
    words = sort_blocks(repaired(_content(message)))
    calls = _calls(message)
    thought = Reflection(
        judgment="\n".join(filter(None, (_reasoning(message), words.thought))),
        intent=words.text if calls else "",
    )
    return Answer(
        text="" if calls else words.text,
        calls=calls,
        thought=thought if thought.judgment or thought.intent else None,
        memory_update=words.memory,
        model=_label(body.get("model")),
        finish=_label(choice.get("finish_reason")),
        usage=_usage(_mapping(body.get("usage"))),
    )


def read_arguments(arguments: Any) -> dict[str, Any] | None:
    """A call's arguments, from JSON text or from an object; None when they cannot be read."""
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments) if arguments.strip() else {}
        if arguments is None:
            return {}
        return cleaned(arguments) if isinstance(arguments, dict) else None
    except (ValueError, RecursionError):
        return None


def _first_choice(body: Any) -> dict[str, Any]:
    """The first choice, unless the body or the choice is an error in disguise."""
    if not isinstance(body, dict):
        raise Unavailable(f"the answer is no JSON object: {_shown(body)}")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or (_mapping(choice).get("error") if choice else None)
    if error:
        raise failure(200, error)
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise Unavailable(f"the answer has no choices with a message: {_shown(body)}")
    return choice


def _content(message: dict[str, Any]) -> str:
    """The words of a message, which may come as text, as parts, or as a refusal."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (_mapping(part).get("text") for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content:
        return content
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _reasoning(message: dict[str, Any]) -> str:
    """What a reasoning model thought; servers disagree on the field's name."""
    for field in ("reasoning_content", "reasoning"):
        reasoning = message.get(field)
        if isinstance(reasoning, str) and reasoning.strip():
            return repaired(reasoning).strip()
    return ""


def _calls(message: dict[str, Any]) -> tuple[Call, ...]:
    """The calls of a message, the older single function_call included."""
    listed = message.get("tool_calls")
    entries = [entry for entry in listed if entry] if isinstance(listed, list) else []
    older = message.get("function_call")
    if not entries and isinstance(older, dict):
        entries = [{"function": older}]
    return tuple(_call(f"c{index}", entry) for index, entry in enumerate(entries))


def _call(call_id: str, entry: Any) -> Call:
    entry = _mapping(entry)
    if "function" in entry:
        function = _mapping(entry["function"])
        arguments = function.get("arguments")
    else:
        function = _mapping(entry.get("custom"))
        arguments = function.get("input", entry)
    name = _label(function.get("name"))
    readable = read_arguments(arguments)
    raw = "" if readable is not None else _raw(arguments)
    return Call(id=call_id, name=name, arguments=readable, raw=raw)


def _raw(arguments: Any) -> str:
    """Unreadable arguments as text, cut to RAW_BYTES."""
    text = arguments if isinstance(arguments, str) else _shown(arguments)
    return repaired(text).encode()[:RAW_BYTES].decode("utf-8", "ignore")


def _usage(usage: dict[str, Any]) -> Usage:
    """Token counts; what `total_tokens` holds beyond the prompt was paid for as output, too."""
    tokens_in = _count(usage.get("prompt_tokens"))
    beyond = _count(usage.get("total_tokens")) - tokens_in
    cached = _mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    details = _mapping(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=tokens_in,
        output_tokens=max(_count(usage.get("completion_tokens")), beyond),
        cached_tokens=min(_count(cached), tokens_in),
        reasoning_tokens=_count(details.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    """A number of tokens; nonsense and negative numbers count as none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    # A comparison that NaN fails as well.
    return int(min(value, _MOST_TOKENS)) if value > 0 else 0


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _label(value: Any) -> str:
    """A short name, such as a model's or a finish reason's."""
    return repaired(value)[:_LABEL_LENGTH] if isinstance(value, str) else ""


def _shown(value: Any) -> str:
    """The beginning of a value as JSON."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text[:RAW_BYTES]
