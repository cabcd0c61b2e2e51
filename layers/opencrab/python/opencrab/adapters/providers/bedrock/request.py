"""Requests to Bedrock: a ChatRequest becomes the body of a Converse call.

The conversation, its order and its cache marks are those of `anthropic_request`.
"""

import re
from dataclasses import replace
from typing import Any

from opencrab.adapters.providers.anthropic.request import anthropic_request
from opencrab.adapters.providers.wire.lenient import wire_dict
from opencrab.ports.models.model import ChatRequest, ModelInfo

Block = dict[str, Any]

_CACHE_POINT: Block = {"cachePoint": {"type": "default"}}
_CLAUDE = re.compile(
    r"\banthropic\.claude-(?!instant|v2|3-opus|3-sonnet|3-haiku|3-5-sonnet-20240620)"
)
_NOVA = re.compile(r"\bamazon\.nova-")
_FORCED = re.compile(r"\banthropic\.claude-|\bamazon\.nova-|\bmistral\.mistral-large")
_MOST_STOPS = 4
_BLANK = "…"


def bedrock_request(request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:  # noqa: ARG001  - the path says it
    """Build the body; cache points only for models that Bedrock caches prompts of."""
    claude, nova = _CLAUDE.search(request.model), _NOVA.search(request.model)
    # Nova has its own word for the effort.
    spoken = replace(request, reasoning_effort=None) if nova else request
    said = anthropic_request(spoken, info, stream=False)
    body: dict[str, Any] = {}
    if said.get("tools"):
        body["toolConfig"] = _tools(said, request.model, cached=bool(claude))
    if said.get("system"):
        body["system"] = _blocks(said["system"], cached=bool(claude or nova))
    body["messages"] = [
        {
            "role": message["role"],
            "content": _blocks(message["content"], cached=bool(claude or nova)),
        }
        for message in said["messages"]
    ]
    body["inferenceConfig"] = _limits(said)
    if own := _fields_of_model(said, request, is_nova=nova is not None):
        body["additionalModelRequestFields"] = own
    return body


def _fields_of_model(said: dict[str, Any], request: ChatRequest, *, is_nova: bool) -> Block:
    """Return what only some models take, in the words of their makers: the reasoning effort."""
    if is_nova and request.reasoning_effort:
        told = {"type": "enabled", "maxReasoningEffort": request.reasoning_effort}
        return {"reasoningConfig": told}
    return {name: said[name] for name in ("thinking", "output_config") if name in said}


def _limits(said: dict[str, Any]) -> dict[str, Any]:
    limits: dict[str, Any] = {"maxTokens": said["max_tokens"]}
    if "temperature" in said:
        limits["temperature"] = said["temperature"]
    if "top_p" in said:
        limits["topP"] = said["top_p"]
    if stops := said.get("stop_sequences"):
        limits["stopSequences"] = stops[:_MOST_STOPS]
    return limits


def _tools(said: dict[str, Any], model: str, *, cached: bool) -> dict[str, Any]:
    tools: list[Block] = []
    for tool in said["tools"]:
        spec: Block = {"name": tool["name"], "inputSchema": {"json": tool["input_schema"]}}
        if tool["description"].strip():
            spec["description"] = tool["description"]
        tools.append({"toolSpec": spec})
    if cached:
        tools.append(_CACHE_POINT)
    forced = "tool_choice" in said and _FORCED.search(model)
    return {"tools": tools, **({"toolChoice": {"any": {}}} if forced else {})}


def _blocks(blocks: list[Block], *, cached: bool) -> list[Block]:
    """Translate blocks; a cache mark becomes a cache point after its block."""
    found: list[Block] = []
    for block in blocks:
        found.append(_block(block))
        if cached and "cache_control" in block:
            found.append(_CACHE_POINT)
    return found


def _block(block: Block) -> Block:
    match block["type"]:
        case "image":
            source = wire_dict(block["source"])
            kind = str(source["media_type"]).rpartition("/")[2]
            return {"image": {"format": kind, "source": {"bytes": source["data"]}}}
        case "tool_use":
            named = {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}
            return {"toolUse": named}
        case "tool_result":
            content = [{"text": block.get("content") or _BLANK}]
            return {"toolResult": {"toolUseId": block["tool_use_id"], "content": content}}
        case "thinking":
            text = {"text": block["thinking"], "signature": block["signature"]}
            return {"reasoningContent": {"reasoningText": text}}
        case "redacted_thinking":
            return {"reasoningContent": {"redactedContent": block["data"]}}
        case _:
            return {"text": block["text"]}
