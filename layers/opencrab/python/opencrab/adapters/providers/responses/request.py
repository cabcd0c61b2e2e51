"""Requests to the Responses API: a ChatRequest becomes instructions and a list of items."""

import json
import re
from collections.abc import Iterator
from typing import Any

from opencrab.adapters.providers.responses.replay import replayed_response_items
from opencrab.adapters.providers.wire.history import pair_wire_calls_with_results
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

Item = dict[str, Any]

_NOT_IN_FUNCTION_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_FUNCTION_NAME_LENGTH = 64
_CALL_ID_LENGTH = 64


def responses_request(request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
    """Build the request body; the encrypted thoughts of reasoning models are asked for."""
    body: dict[str, Any] = {"model": request.model, "store": False}
    if request.system:
        body["instructions"] = request.system
    if request.actions and info.functions:
        body["tools"] = [_tool(action) for action in request.actions]
        if request.require_action:
            body["tool_choice"] = "required"
    body["input"] = list(_items(request, info))
    body["max_output_tokens"] = request.max_output_tokens
    if not info.temperature:
        body["include"] = ["reasoning.encrypted_content"]
    else:
        given = {"temperature": request.temperature, "top_p": request.top_p}
        body |= {name: value for name, value in given.items() if value is not None}
    if request.reasoning_effort:
        body["reasoning"] = {"effort": request.reasoning_effort}
    return body | ({"stream": True} if stream else {})


def _tool(action: ActionSchema) -> Item:
    return {
        "type": "function",
        "name": action.name,
        "description": action.description,
        "parameters": action.parameters,
        "strict": False,
    }


def _items(request: ChatRequest, info: ModelInfo) -> Iterator[Item]:
    ids: dict[str, str] = {}
    for turn in pair_wire_calls_with_results(request.turns) if info.functions else request.turns:
        if isinstance(turn, CallReturn):
            yield _result(turn, ids, info)
        elif turn.role == "user":
            yield {"role": "user", "content": _content(turn, info)}
        else:
            yield from _answer(turn, request.model, ids, info)


def _answer(turn: ChatMessage, model: str, ids: dict[str, str], info: ModelInfo) -> Iterator[Item]:
    """Yield an answer's items; with its thoughts in their places, if this model had them."""
    if not info.functions:
        called = (f"[{call.name} {_arguments(call)}]" for call in turn.calls)
        text = "\n".join(filter(None, (turn.text, *called)))
        yield {"role": "assistant", "content": text}
        return
    replayed = replayed_response_items(turn, model)
    if replayed is None:
        if turn.text:
            yield {"role": "assistant", "content": turn.text}
        replayed = [{"type": "function_call"} for _ in turn.calls]
    calls = iter(turn.calls)
    for item in replayed:
        if item["type"] == "function_call":
            call = next(calls)
            ids[call.id] = item.get("call_id") or _call_id(call.id)
            yield _call(call, ids[call.id])
        elif item["type"] == "message":
            yield {"role": "assistant", "content": item["text"]}
        else:
            yield item


def _call(call: ActionCall, call_id: str) -> Item:
    name = _NOT_IN_FUNCTION_NAMES.sub("_", call.name)[:_FUNCTION_NAME_LENGTH] or "unnamed"
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": _arguments(call),
    }


def _result(turn: CallReturn, ids: dict[str, str], info: ModelInfo) -> Item:
    if not info.functions:
        return {"role": "user", "content": f"[{turn.name}] {turn.content}"}
    call_id = ids.get(turn.call_id) or _call_id(turn.call_id)
    return {"type": "function_call_output", "call_id": call_id, "output": turn.content}


def _content(turn: ChatMessage, info: ModelInfo) -> str | list[Item]:
    if not turn.images or not info.vision:
        return turn.text
    words = [{"type": "input_text", "text": turn.text}] if turn.text else []
    return [*words, *(_picture(image) for image in turn.images)]


def _picture(image: Image) -> Item:
    url = f"data:{image.media_type};base64,{image.data}"
    return {"type": "input_image", "image_url": url, "detail": image.detail or "auto"}


def _arguments(call: ActionCall) -> str:
    """Return arguments as JSON; unreadable ones are wrapped, as servers parse them."""
    arguments = {"unreadable": call.raw} if call.arguments is None else call.arguments
    return json.dumps(arguments, ensure_ascii=False)


def _call_id(call_id: str) -> str:
    """Return our call id, or its hash if it is longer than OpenAI allows."""
    return call_id if len(call_id) <= _CALL_ID_LENGTH else content_hash(call_id.encode())[:32]
