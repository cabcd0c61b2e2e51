"""Answers of the Responses API: each is a ModelAnswer, or raises ModelCallFailed."""

from typing import Any

from opencrab.adapters.providers.openai.answer import Counting
from opencrab.adapters.providers.openai.error import openai_error_within
from opencrab.adapters.providers.responses.replay import (
    kept_response_items,
    text_of_response_message,
)
from opencrab.adapters.providers.wire.lenient import (
    are_wire_arguments_ambiguous,
    as_wire_label,
    raw_wire_tool_arguments,
    wire_dict,
    wire_json_excerpt,
    wire_list,
    wire_tool_arguments,
)
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection

Item = dict[str, Any]

_FILTERED = "content_filter"
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Calls that somebody here is to run; what ran at the vendor is no call."""


def responses_answer(body: Any, party: ErrorParty, counting: Counting) -> ModelAnswer:
    """Convert a response to a model answer.

    Raises ModelCallFailed if the body holds an error or no output, or if it was filtered.
    """
    fields = wire_dict(body)
    usage = response_usage(fields, party, counting)
    if error := fields.get("error"):
        raise openai_error_within(error, party, usage=usage)
    if not isinstance(fields.get("output"), list):
        raise ModelCallFailed(
            f"the answer of {party.provider} has no output: {wire_json_excerpt(body)}",
            Fault.NONSENSE,
            usage=usage if usage.is_counted else None,
        )
    items = map(wire_dict, wire_list(fields["output"]))
    output = [item for item in items if isinstance(item.get("type"), str)]
    finish = _finish(fields)
    words = repair_wire_text(_texts(output)).strip()
    calls = _calls(output)
    if finish in {"failed", "cancelled"} or (finish == _FILTERED and not words and not calls):
        raise openai_error_within(finish, party, usage=usage, began=True)
    thought = Reflection(judgment=_thinking(output), intent=words if calls else "")
    return ModelAnswer(
        text="" if calls else words,
        calls=calls,
        thought=thought if thought.judgment or thought.intent else None,
        model=as_wire_label(fields.get("model")) or party.model,
        finish=finish,
        usage=usage,
        replay=kept_response_items(output, party.model),
    )


def response_usage(body: Item, party: ErrorParty, counting: Counting) -> Usage:
    """Return the tokens that a response reports, counted as those of a chat completion."""
    counted = wire_dict(body.get("usage"))
    named = {
        "prompt_tokens": counted.get("input_tokens"),
        "prompt_tokens_details": counted.get("input_tokens_details"),
        "completion_tokens": counted.get("output_tokens"),
        "completion_tokens_details": counted.get("output_tokens_details"),
        "total_tokens": counted.get("total_tokens"),
    }
    return counting({"usage": named}, party)


def _finish(body: Item) -> str:
    """Return why a response ended: its status, or what made it incomplete."""
    reason = as_wire_label(wire_dict(body.get("incomplete_details")).get("reason"))
    return reason or as_wire_label(body.get("status"))


def _texts(output: list[Item]) -> str:
    return "".join(
        text_of_response_message(item) for item in output if item.get("type") == "message"
    )


def _thinking(output: list[Item]) -> str:
    """Join what is readable of a model's thoughts: their summaries, or else their text."""
    found = list[str]()
    for item in output:
        if item.get("type") == "reasoning":
            parts = wire_list(item.get("summary")) or wire_list(item.get("content"))
            texts = (wire_dict(part).get("text") for part in parts)
            found.extend(text.strip() for text in texts if isinstance(text, str))
    return repair_wire_text("\n".join(filter(None, found)))


def _calls(output: list[Item]) -> tuple[ActionCall, ...]:
    entries = [item for item in output if item.get("type") in _ARGUMENTS]
    return tuple(_call(f"c{index}", entry) for index, entry in enumerate(entries))


def _call(call_id: str, entry: Item) -> ActionCall:
    """Convert a call; arguments that the token limit may have cut count as unreadable."""
    arguments = entry.get(_ARGUMENTS[entry["type"]])
    cut = entry.get("status") == "incomplete" and are_wire_arguments_ambiguous(arguments)
    readable = None if cut else wire_tool_arguments(arguments)
    return ActionCall(
        id=call_id,
        name=as_wire_label(entry.get("name")),
        arguments=readable,
        raw="" if readable is not None else raw_wire_tool_arguments(arguments),
    )
