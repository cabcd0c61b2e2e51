"""A wire of nobody's: the smallest format that code for all vendors can be tested with."""

import json
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply, response_excerpt
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    parse_provider_json,
    wire_dict,
    wire_json_excerpt,
    wire_list,
    wire_token_count,
)
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatMessage, ChatRequest, Embeddings, ModelInfo

FAULTS = {401: Fault.AUTH, 429: Fault.RATE_LIMITED, 503: Fault.OVERLOADED}


@dataclass
class TinyAssembly:
    """Words until `end`; an `error` in between is raised."""

    party: ErrorParty
    words: str = ""
    is_complete: bool = False
    usage: Any = None

    @property
    def has_content(self) -> bool:
        return bool(self.words)

    @property
    def text(self) -> str:
        return self.words

    @property
    def has_calls(self) -> bool:
        return False

    def add(self, event: StreamFrame) -> None:
        body = wire_dict(parse_provider_json(event.data.encode()))
        if "error" in body:
            raise ModelCallFailed(
                f"{self.party.provider}: {wire_json_excerpt(body)}", Fault.SERVER_ERROR
            )
        self.words += as_wire_label(body.get("w"))
        self.usage = body.get("usage", self.usage)
        self.is_complete = self.is_complete or "end" in body

    def body(self) -> Any:
        return {"text": self.words, "usage": self.usage}


@dataclass
class TinyWire:
    """Texts in, text out; `bug` is what reading an answer raises."""

    framing: Framing = "sse"
    embeds: bool = True
    bug: Exception | None = None

    def chat_path(self, model: str, *, stream: bool) -> str:
        return f"/{model}:stream" if stream else f"/{model}"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"x-key": endpoint.api_key, **endpoint.extra_headers}

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        said = [turn.text for turn in request.turns if isinstance(turn, ChatMessage)]
        return {"model": request.model, "said": said, "stream": stream}

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        if self.bug is not None:
            raise self.bug
        if "text" not in wire_dict(body):
            raise ModelCallFailed(
                f"no answer of {party.provider}: {wire_json_excerpt(body)}", Fault.NONSENSE
            )
        tokens = wire_token_count(body.get("usage"))
        usage = Usage(input_tokens=tokens, output_tokens=tokens)
        return ModelAnswer(
            text=body["text"], model=as_wire_label(body.get("model")), usage=usage, finish="stop"
        )

    def assembly(self, party: ErrorParty) -> TinyAssembly:
        return TinyAssembly(party)

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        fault = FAULTS.get(reply.status, Fault.SERVER_ERROR)
        told = (
            f"{party.provider} ({reply.status}, {party.key_name}): {response_excerpt(reply.body)}"
        )
        return ModelCallFailed(told, fault, cure=f"check {response_excerpt(reply.body, 60)}")

    def models_path(self) -> str:
        return "/models"

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        return tuple(body)

    def embeddings_path(self, model: str) -> str | None:
        return f"/embed/{model}" if self.embeds else None

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        return {"texts": list(texts)}

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        if len(wire_list(body)) != len(texts):
            raise ModelCallFailed(f"{party.provider} sent too few vectors", Fault.NONSENSE)
        usage = Usage(input_tokens=len(texts), reported_micro_usd=len(texts))
        return Embeddings(tuple((float(number),) for number in body), usage)


def frames(*values: Any) -> bytes:
    """Values as server-sent events."""
    return b"".join(
        f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode() for value in values
    )
