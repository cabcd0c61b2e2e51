"""Requests to OpenAI-shaped servers: a ChatRequest becomes the body of a chat completion."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.adapters.providers.wire.history import pair_wire_calls_with_results
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

_PARTICIPANT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_FUNCTION_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_FUNCTION_NAME_LENGTH = 64
_CALL_ID_LENGTH = 40
_MOST_STOPS = 4
_REPLAYED = ("reasoning_content", "reasoning_details", "content")


def openai_request(request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
    """Build the request body, in an order that suits prompt caches."""
    body: dict[str, Any] = {"model": request.model}
    if request.actions and info.functions:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": action.name,
                    "description": action.description,
                    "parameters": action.parameters,
                },
            }
            for action in request.actions
        ]
        if request.require_action:
            body["tool_choice"] = "required"
    system = [{"role": "system", "content": request.system}] if request.system else []
    body["messages"] = [*system, *_messages(request, info)]
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body | _limits(request, info)


def _limits(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Return token limit, sampling and stop; reasoning models accept only limit and effort."""
    effort = {"reasoning_effort": request.reasoning_effort} if request.reasoning_effort else {}
    if not info.temperature:
        return {"max_completion_tokens": request.max_output_tokens, **effort}
    limits: dict[str, Any] = {"max_tokens": request.max_output_tokens, **effort}
    if request.temperature is not None:
        limits["temperature"] = request.temperature
    if request.top_p is not None:
        limits["top_p"] = request.top_p
    stops = [stop for stop in request.stop if stop][:_MOST_STOPS]
    if stops and info.stop:
        limits["stop"] = stops
    return limits


def _messages(request: ChatRequest, info: ModelInfo) -> Iterator[dict[str, Any]]:
    """Yield the messages; reasoning is sent back only to the model that produced it."""
    ids: dict[str, str] = {}
    for turn in pair_wire_calls_with_results(request.turns) if info.functions else request.turns:
        if isinstance(turn, CallReturn):
            yield _tool_result_message(turn, ids, info)
            continue
        replay = turn.replay
        if replay is None or replay.get("model") != request.model:
            yield _chat_message(turn, ids, info)
            continue
        ids |= _own_ids(turn.calls, replay)
        yield _chat_message(turn, ids, info) | {
            name: replay[name] for name in _REPLAYED if name in replay
        }


def _own_ids(calls: tuple[ActionCall, ...], replay: Mapping[str, Any]) -> dict[str, str]:
    """Return the vendor's id of each call, if its reasoning details refer to them."""
    ids = replay.get("ids")
    if not isinstance(ids, list) or len(ids) != len(calls) or len(set(ids)) != len(ids):
        return {}
    return {call.id: own for call, own in zip(calls, ids, strict=True) if own}


def _chat_message(turn: ChatMessage, ids: Mapping[str, str], info: ModelInfo) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.name and _PARTICIPANT.fullmatch(turn.name):
        message["name"] = turn.name
    if turn.images and info.vision and turn.role == "user":
        words = [{"type": "text", "text": turn.text}] if turn.text else []
        message["content"] = [*words, *(_picture(image) for image in turn.images)]
    if turn.calls and info.functions:
        message["content"] = turn.text or None
        message["tool_calls"] = [_tool_call(call, ids) for call in turn.calls]
    elif turn.calls:
        called = (f"[{call.name} {_arguments(call)}]" for call in turn.calls)
        message["content"] = "\n".join(filter(None, (turn.text, *called)))
    return message


def _tool_result_message(
    turn: CallReturn, ids: Mapping[str, str], info: ModelInfo
) -> dict[str, Any]:
    """Return a tool result; as a user message if the model does not support tools."""
    if not info.functions:
        return {"role": "user", "content": f"[{turn.name}] {turn.content}"}
    call_id = ids.get(turn.call_id) or _call_id(turn.call_id)
    return {"role": "tool", "tool_call_id": call_id, "content": turn.content}


def _picture(image: Image) -> dict[str, Any]:
    url = {"url": f"data:{image.media_type};base64,{image.data}"}
    detail = {"detail": image.detail} if image.detail else {}
    return {"type": "image_url", "image_url": url | detail}


def _tool_call(call: ActionCall, ids: Mapping[str, str]) -> dict[str, Any]:
    name = _NOT_IN_FUNCTION_NAMES.sub("_", call.name)[:_FUNCTION_NAME_LENGTH]
    return {
        "id": ids.get(call.id) or _call_id(call.id),
        "type": "function",
        "function": {"name": name or "unnamed", "arguments": _arguments(call)},
    }


def _arguments(call: ActionCall) -> str:
    """Return arguments as JSON; unreadable ones are wrapped, as servers parse them."""
    if call.arguments is None:
        return json.dumps({"unreadable": call.raw}, ensure_ascii=False)
    return call.arguments_as_json


def _call_id(call_id: str) -> str:
    """Return our call id, or its hash if it is longer than OpenAI allows."""
    return call_id if len(call_id) <= _CALL_ID_LENGTH else content_hash(call_id.encode())[:32]
