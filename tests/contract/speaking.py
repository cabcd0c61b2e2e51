"""The same answer in every vendor's format, whole and as a stream, as its servers say it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire
from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.llamacpp.endpoint import LlamaCppWire
from opencrab.adapters.providers.ollama.endpoint import OllamaWire
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.adapters.providers.wire.wire import Wire
from tests.unit.adapters.providers.event_stream import event_stream
from tests.unit.adapters.providers.stub import calling, completion

TOKENS = {"input_tokens": 12, "output_tokens": 5}
STREAM = "text/event-stream"


@dataclass(frozen=True)
class Vendor:
    """A wire, and what a server that speaks it answers; `kind` is the type of its streams."""

    wire: Callable[[], Wire]
    whole: Callable[[ScriptedAnswer], Any]
    stream: Callable[[ScriptedAnswer], bytes]
    kind: str = STREAM


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _frames(*values: Any, named: bool = False) -> bytes:
    names = [f"event: {value['type']}\n" if named else "" for value in values]
    return "".join(
        f"{name}data: {_dumped(value)}\n\n" for name, value in zip(names, values, strict=True)
    ).encode()


def _halves(text: str) -> list[str]:
    return [part for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part]


def _openai(answer: ScriptedAnswer) -> Any:
    call = calling(answer.calls[0].name, answer.calls[0].arguments) if answer.calls else {}
    return completion({**call, "content": answer.text})


def _openai_stream(answer: ScriptedAnswer) -> bytes:
    deltas: list[Any] = [{"role": "assistant"}, *({"content": t} for t in _halves(answer.text))]
    for call in answer.calls:
        function: Any = {"name": call.name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]})
        for part in _halves(str(call.arguments)):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})
    whole = _openai(answer)
    finish = whole["choices"][0]["finish_reason"]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    chunks: list[Any] = [{"model": "crab-1", "choices": [choice]} for choice in choices]
    chunks.append({"model": "crab-1", "choices": [], "usage": whole["usage"]})
    return _frames(*chunks) + b"data: [DONE]\n\n"


def _responses(answer: ScriptedAnswer) -> Any:
    output: list[Any] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        output.append({"type": "message", "role": "assistant", "content": content})
    for call in answer.calls:
        named = {"type": "function_call", "call_id": "call_1", "name": call.name}
        output.append({**named, "arguments": call.arguments, "status": "completed"})
    usage = {**TOKENS, "total_tokens": 17}
    return {"model": "crab-1", "status": "completed", "output": output, "usage": usage}


def _responses_stream(answer: ScriptedAnswer) -> bytes:
    whole = _responses(answer)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Any] = [{"type": "response.created", "response": started}]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index}
        is_call = item["type"] == "function_call"
        blank = {**item, "arguments": ""} if is_call else {**item, "content": []}
        events.append({"type": "response.output_item.added", **at, "item": blank})
        kind = "function_call_arguments" if is_call else "output_text"
        text = item["arguments"] if is_call else item["content"][0]["text"]
        for part in _halves(text):
            events.append({"type": f"response.{kind}.delta", **at, "delta": part})
        events.append({"type": "response.output_item.done", **at, "item": item})
    return _frames(*events, {"type": "response.completed", "response": whole}, named=True)


def _anthropic(answer: ScriptedAnswer) -> Any:
    blocks: list[Any] = [{"type": "text", "text": answer.text}] if answer.text else []
    for call in answer.calls:
        blocks.append(
            {"type": "tool_use", "id": "toolu_1", "name": call.name, "input": call.arguments}
        )
    return {
        "type": "message",
        "role": "assistant",
        "model": "crab-1",
        "content": blocks,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "usage": TOKENS,
    }


def _anthropic_stream(answer: ScriptedAnswer) -> bytes:
    whole = _anthropic(answer)
    started = {**whole, "content": [], "stop_reason": None}
    events: list[Any] = [{"type": "message_start", "message": started}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        field = "text" if block["type"] == "text" else "input"
        delta = ("text_delta", "text") if field == "text" else ("input_json_delta", "partial_json")
        blank = {**block, field: "" if field == "text" else {}}
        events.append({"type": "content_block_start", "index": index, "content_block": blank})
        for part in _halves(block[field]):
            piece = {"type": delta[0], delta[1]: part}
            events.append({"type": "content_block_delta", "index": index, "delta": piece})
        events.append({"type": "content_block_stop", "index": index})
    stopped = {"stop_reason": whole["stop_reason"]}
    events.append({"type": "message_delta", "delta": stopped, "usage": TOKENS})
    return _frames(*events, {"type": "message_stop"}, named=True)


def _bedrock(answer: ScriptedAnswer) -> Any:
    content: list[Any] = [{"text": answer.text}] if answer.text else []
    for call in answer.calls:
        used = {"toolUseId": "tooluse_1", "name": call.name, "input": call.arguments}
        content.append({"toolUse": used})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if answer.calls else "end_turn",
        "usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17},
    }


def _bedrock_stream(answer: ScriptedAnswer) -> bytes:
    whole = _bedrock(answer)
    events: list[tuple[str, Any]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(whole["output"]["message"]["content"]):
        at = {"contentBlockIndex": index}
        call = block.get("toolUse")
        if call:
            named = {"toolUseId": call["toolUseId"], "name": call["name"]}
            events.append(("contentBlockStart", {**at, "start": {"toolUse": named}}))
        for part in _halves(call["input"] if call else block["text"]):
            delta = {"toolUse": {"input": part}} if call else {"text": part}
            events.append(("contentBlockDelta", {**at, "delta": delta}))
        events.append(("contentBlockStop", at))
    events.append(("messageStop", {"stopReason": whole["stopReason"]}))
    return event_stream(*events, ("metadata", {"usage": whole["usage"]}))


def _google(answer: ScriptedAnswer) -> Any:
    return _google_chunk([*_google_texts([answer.text]), *_google_calls(answer)], "STOP")


def _google_stream(answer: ScriptedAnswer) -> bytes:
    texts = [_google_chunk(_google_texts([part])) for part in _halves(answer.text)]
    stream = _frames(*texts, _google_chunk(_google_calls(answer), "STOP"))
    return stream.replace(b"\n", b"\r\n")


def _google_texts(texts: list[str]) -> list[Any]:
    return [{"text": text} for text in texts if text]


def _google_calls(answer: ScriptedAnswer) -> list[Any]:
    return [{"functionCall": {"name": call.name, "args": call.arguments}} for call in answer.calls]


def _google_chunk(parts: list[Any], finish: str = "") -> Any:
    candidate: Any = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "crab-1"}


def _ollama(answer: ScriptedAnswer) -> Any:
    message: Any = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in answer.calls
        ]
    ended = {"done": True, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 5}
    return {"model": "crab-1", "message": message, **ended}


def _ollama_stream(answer: ScriptedAnswer) -> bytes:
    lines = [
        {"model": "crab-1", "message": {"role": "assistant", "content": part}, "done": False}
        for part in _halves(answer.text)
    ]
    last = _ollama(ScriptedAnswer(calls=answer.calls))
    return "".join(f"{_dumped(line)}\n" for line in (*lines, last)).encode()


VENDORS = {
    "openai": Vendor(OpenAIWire, _openai, _openai_stream),
    "responses": Vendor(ResponsesWire, _responses, _responses_stream),
    "openrouter": Vendor(OpenRouterWire, _openai, _openai_stream),
    "llamacpp": Vendor(LlamaCppWire, _openai, _openai_stream),
    "anthropic": Vendor(AnthropicWire, _anthropic, _anthropic_stream),
    "bedrock": Vendor(BedrockWire, _bedrock, _bedrock_stream, "application/vnd.amazon.eventstream"),
    "google": Vendor(GoogleWire, _google, _google_stream),
    "ollama": Vendor(OllamaWire, _ollama, _ollama_stream, "application/x-ndjson"),
}
