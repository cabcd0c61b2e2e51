"""Requests to OpenAI-shaped servers: a ChatRequest becomes the body of a chat completion."""

import json
import re
from typing import Any

from opencrab.domain.identifier import content_hash
from opencrab.domain.record import Call
from opencrab.ports.model import ActionSchema, ChatRequest, Returned, Said

_PARTICIPANT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_FUNCTION_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_FUNCTION_NAME_LENGTH = 64
_CALL_ID_LENGTH = 40
_REASONING_MODEL = re.compile(r"(?:.*/)?(?:o\d|gpt-(?:[5-9]|\d\d))(?!\d)")


def encoded(request: ChatRequest) -> bytes:
    """The exact bytes that are sent; what UTF-8 cannot say becomes a question mark."""
    body = json.dumps(to_wire(request), ensure_ascii=False, separators=(",", ":"))
    return body.encode("utf-8", "replace")


def to_wire(request: ChatRequest) -> dict[str, Any]:
    """The body as a value, in the order in which prompt caches like it."""
    body: dict[str, Any] = {"model": request.model}
    if request.actions:
        body["tools"] = [_tool(action) for action in request.actions]
        if request.require_action:
            body["tool_choice"] = "required"
    system = [{"role": "system", "content": request.system}] if request.system else []
    body["messages"] = [*system, *(_message(turn) for turn in request.turns)]
    return body | _limits(request)


def is_reasoning_model(model: str) -> bool:
    """Whether OpenAI refuses max_tokens and temperature for this model."""
    return _REASONING_MODEL.match(model) is not None


def _limits(request: ChatRequest) -> dict[str, Any]:
    if is_reasoning_model(request.model):
        return {"max_completion_tokens": request.max_output_tokens}
    limits: dict[str, Any] = {"max_tokens": request.max_output_tokens}
    if request.temperature is not None:
        limits["temperature"] = request.temperature
    return limits


def _tool(action: ActionSchema) -> dict[str, Any]:
    function = {
        "name": action.name,
        "description": action.description,
        "parameters": action.parameters,
    }
    return {"type": "function", "function": function}


def _message(turn: Said | Returned) -> dict[str, Any]:
    if isinstance(turn, Returned):
        return {
            "role": "tool",
            "tool_call_id": _call_id(turn.call_id),
            "content": turn.content,
        }
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if _PARTICIPANT.fullmatch(turn.name):
        message["name"] = turn.name
    if turn.calls:
        message["content"] = turn.text or None
        message["tool_calls"] = [_tool_call(call) for call in turn.calls]
    return message


def _tool_call(call: Call) -> dict[str, Any]:
    """A call as the model's own history; broken arguments are wrapped, as servers parse them."""
    arguments = {"unreadable": call.raw} if call.arguments is None else call.arguments
    name = _NOT_IN_FUNCTION_NAMES.sub("_", call.name)[:_FUNCTION_NAME_LENGTH]
    return {
        "id": _call_id(call.id),
        "type": "function",
        "function": {
            "name": name or "unnamed",
            "arguments": json.dumps(arguments, ensure_ascii=False),
        },
    }


def _call_id(call_id: str) -> str:
    """Our id as it is, or a shorter name for it where OpenAI would refuse its length."""
    return call_id if len(call_id) <= _CALL_ID_LENGTH else content_hash(call_id.encode())[:32]
