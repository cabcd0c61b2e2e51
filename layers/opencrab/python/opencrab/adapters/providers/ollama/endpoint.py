"""Ollama's own chat format: paths, requests with the whole context window, embeddings, models."""

from typing import Any

from opencrab.adapters.providers.ollama.answer import OllamaAssembly, ollama_answer
from opencrab.adapters.providers.ollama.error import ollama_error_of_body, ollama_error_of_reply
from opencrab.adapters.providers.openai import embedding
from opencrab.adapters.providers.wire.history import pair_wire_calls_with_results
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    wire_dict,
    wire_list,
    wire_token_count,
)
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Embeddings,
    ModelInfo,
)


class OllamaWire:
    """The format of Ollama's /api/chat; it has no option that forces a tool call."""

    framing: Framing = "ndjson"
    from_wire = staticmethod(ollama_answer)
    assembly = OllamaAssembly
    failure = staticmethod(ollama_error_of_reply)

    def chat_path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002  - it is in the body
        return "/api/chat"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        key = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        return {"content-type": "application/json", **endpoint.extra_headers, **key}

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": request.model}
        if request.actions and info.functions:
            body["tools"] = [_tool(action) for action in request.actions]
        system = [{"role": "system", "content": request.system}] if request.system else []
        body["messages"] = [
            *system,
            *(_message(turn, info) for turn in pair_wire_calls_with_results(request.turns)),
        ]
        think = {"think": request.reasoning_effort} if request.reasoning_effort else {}
        return body | {"stream": stream, **think, "options": _options(request, info)}

    def models_path(self) -> str:
        return "/api/tags"

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        entries = map(wire_dict, wire_list(wire_dict(body).get("models")))
        names = (
            as_wire_label(entry.get("model")) or as_wire_label(entry.get("name"))
            for entry in entries
        )
        return tuple(dict.fromkeys(name for name in names if name))

    def embeddings_path(self, model: str) -> str | None:  # noqa: ARG002  - it is in the body
        return "/api/embed"

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        return {"model": model, "input": [text or " " for text in texts], "truncate": False}

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        body = wire_dict(body)
        if body.get("error"):
            raise ollama_error_of_body(body, party)
        usage = Usage(input_tokens=wire_token_count(body.get("prompt_eval_count")))
        rows = [{"embedding": row} for row in wire_list(body.get("embeddings"))]
        placed = {"data": rows, "model": body.get("model")}
        return embedding.openai_embedding_answer(placed, len(texts), party, usage)


def _options(request: ChatRequest, info: ModelInfo) -> dict[str, Any]:
    """Return the options, with num_ctx: Ollama's default is small and truncates silently."""
    options: dict[str, Any] = {
        "num_ctx": info.max_total_tokens or info.max_input_tokens,
        "num_predict": request.max_output_tokens,
    }
    if request.temperature is not None and info.temperature:
        options["temperature"] = request.temperature
    if request.top_p is not None and info.temperature:
        options["top_p"] = request.top_p
    stop = [text for text in request.stop if text and info.stop]
    return options | ({"stop": stop} if stop else {})


def _tool(action: ActionSchema) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": action.name,
            "description": action.description,
            "parameters": action.parameters,
        },
    }


def _message(turn: ChatMessage | CallReturn, info: ModelInfo) -> dict[str, Any]:
    if isinstance(turn, CallReturn):
        return {"role": "tool", "tool_name": turn.name, "content": turn.content}
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [_tool_call(call) for call in turn.calls]
    if turn.images and info.vision:
        message["images"] = [image.data for image in turn.images]
    return message


def _tool_call(call: ActionCall) -> dict[str, Any]:
    arguments = {"unreadable": call.raw} if call.arguments is None else call.arguments
    return {"function": {"name": call.name, "arguments": arguments}}
