"""Requests to Gemini: a ChatRequest becomes contents whose roles alternate, calls answered."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from opencrab.adapters.providers.google.schema import gemini_schema
from opencrab.adapters.providers.wire.effort import wire_thinking_budget
from opencrab.adapters.providers.wire.lenient import wire_dict, wire_list
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)

REPLAY = "google"
"""Marks a `ModelAnswer.replay` as made here."""

UNSIGNED = "skip_thought_signature_validator"
"""What Google wants in place of the signature of a call that it did not make itself."""

_STOP_SEQUENCES = 5
_FUNCTION_NAME_LENGTH = 64
_NOT_IN_FUNCTION_NAMES = re.compile(r"[^a-zA-Z0-9_.:-]")
_BEGINS_FUNCTION_NAME = re.compile(r"[a-zA-Z_]")
_WANTS_SIGNATURES = re.compile(r"gemini-(?:[3-9]|\d\d)(?!\d)")
_NOTHING = "…"
_NO_RESULT = {"error": "this call has no result"}


def google_request_body(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Build the body for both generateContent and streamGenerateContent."""
    body: dict[str, Any] = {}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.actions and info.functions:
        declarations = [_declaration(action) for action in request.actions]
        body["tools"] = [{"functionDeclarations": declarations}]
        if request.require_action:
            body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
    body["contents"] = _contents(request, info)
    body["generationConfig"] = _limits(request, info)
    return body


def google_model_id(model: str) -> str:
    """Return a model's name without the prefix `models/`."""
    return model.removeprefix("models/")


def _limits(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    limits: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens}
    if request.temperature is not None and info.temperature:
        limits["temperature"] = request.temperature
    if request.top_p is not None and info.temperature:
        limits["topP"] = request.top_p
    if thinking := _thinking(request, info):
        limits["thinkingConfig"] = thinking
    stop = [text for text in request.stop if text and info.stop][:_STOP_SEQUENCES]
    return limits | ({"stopSequences": stop} if stop else {})


def _thinking(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Return the thinking level, or its budget for models before Gemini 3; {} for the default."""
    effort = request.reasoning_effort
    if not effort:
        return {}
    if not info.thinking_budget:
        return {"thinkingLevel": effort}
    budget = wire_thinking_budget(effort, request.max_output_tokens)
    return {} if budget is None else {"thinkingBudget": budget}


def _declaration(action: ActionSchema) -> dict[str, Any]:
    return {
        "name": _function_name(action.name),
        "description": action.description,
        "parametersJsonSchema": gemini_schema(action.parameters),
    }


def _contents(request: ChatRequest, info: ModelInfo) -> list[dict[str, Any]]:
    """Build alternating contents that begin and end with the user; merge turns of one role.

    Gemini requires as many results after a content as it has calls: a call without a result gets an
    error as its result, and a result without a call becomes text.
    """
    contents: list[dict[str, Any]] = []
    asked: list[tuple[ActionCall, str]] = []
    for is_model, run in groupby(request.turns, _is_model):
        if is_model:
            if not contents:
                contents.append(_content("user", []))
            spoken = [turn for turn in run if isinstance(turn, ChatMessage)]
            contents.append(_content("model", _assistant_parts(spoken, request.model)))
            asked = [pair for turn in spoken for pair in _calls_with_ids(turn, request.model)]
        else:
            contents.append(_content("user", _user_parts(list(run), asked, info)))
            asked = []
    if not contents or contents[-1]["role"] == "model":
        contents.append(_content("user", _user_parts([], asked, info)))
    return contents


def _is_model(turn: ChatMessage | CallReturn) -> bool:
    return isinstance(turn, ChatMessage) and turn.role == "assistant"


def _content(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": parts or [{"text": _NOTHING}]}


def _assistant_parts(run: list[ChatMessage], model: str) -> list[dict[str, Any]]:
    """Return the parts of assistant messages, with their thought signatures."""
    parts: list[dict[str, Any]] = []
    first_call: dict[str, Any] | None = None
    for turn in run:
        replay = _replay(turn, model)
        if turn.text:
            parts.append({"text": turn.text, **_signature_field(replay.get("text"))})
        for call, kept in _calls_with_replay(turn, replay):
            part = {"functionCall": _call(call, kept), **_signature_field(kept.get("signature"))}
            first_call = first_call or part
            parts.append(part)
    if first_call and _WANTS_SIGNATURES.match(google_model_id(model)):
        first_call.setdefault("thoughtSignature", UNSIGNED)
    return parts


def _user_parts(
    run: list[ChatMessage | CallReturn], asked: list[tuple[ActionCall, str]], info: ModelInfo
) -> list[dict[str, Any]]:
    """Return function responses in the order of the calls, then stray results and messages."""
    results = [turn for turn in run if isinstance(turn, CallReturn)]
    parts: list[dict[str, Any]] = []
    for call, vendor_id in asked:
        found = next((result for result in results if result.call_id == call.id), None)
        if found is not None:
            results.remove(found)
        parts.append({"functionResponse": _response(call, vendor_id, found)})
    parts.extend({"text": f"{result.name}: {result.content}"} for result in results)
    for turn in run:
        if isinstance(turn, ChatMessage):
            parts.extend(_message_parts(turn, info))
    return parts


def _message_parts(turn: ChatMessage, info: ModelInfo) -> Iterator[dict[str, Any]]:
    if turn.text:
        yield {"text": turn.text}
    for image in turn.images if info.vision else ():
        yield {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _call(call: ActionCall, kept: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {"unreadable": call.raw} if call.arguments is None else call.arguments
    return {"name": _function_name(call.name), "args": arguments, **_id_field(kept.get("id"))}


def _response(call: ActionCall, vendor_id: str, result: CallReturn | None) -> dict[str, Any]:
    response = _NO_RESULT if result is None else {"result": result.content}
    return {"name": _function_name(call.name), "response": response} | _id_field(vendor_id)


def _calls_with_ids(turn: ChatMessage, model: str) -> Iterator[tuple[ActionCall, str]]:
    """Yield a message's calls with the ids that Google gave them."""
    for call, kept in _calls_with_replay(turn, _replay(turn, model)):
        yield call, kept.get("id") or ""


def _calls_with_replay(
    turn: ChatMessage, replay: Mapping[str, Any]
) -> Iterator[tuple[ActionCall, dict[str, Any]]]:
    """Yield each call with the id and signature stored for it."""
    kept = wire_list(replay.get("calls"))
    for place, call in enumerate(turn.calls):
        yield call, wire_dict(kept[place]) if place < len(kept) else {}


def _replay(turn: ChatMessage, model: str) -> Mapping[str, Any]:
    """Return the data stored with an answer of this model; empty for another model's."""
    replay = turn.replay or {}
    ours = replay.get("of") == REPLAY and replay.get("model") == google_model_id(model)
    return replay if ours else {}


def _signature_field(signature: Any) -> dict[str, Any]:
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _id_field(vendor_id: Any) -> dict[str, Any]:
    return {"id": vendor_id} if isinstance(vendor_id, str) and vendor_id else {}


def _function_name(name: str) -> str:
    """Return a name that Google accepts; names that models invented stay in the history."""
    name = _NOT_IN_FUNCTION_NAMES.sub("_", name) or "unnamed"
    name = name if _BEGINS_FUNCTION_NAME.match(name) else f"_{name}"
    return name[:_FUNCTION_NAME_LENGTH]
