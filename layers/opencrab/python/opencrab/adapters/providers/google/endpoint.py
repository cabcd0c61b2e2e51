"""Google's Gemini over generateContent: paths, headers, embeddings and the list of models."""

from typing import Any
from urllib.parse import quote

from opencrab.adapters.providers.google.answer import google_answer
from opencrab.adapters.providers.google.error import google_error_of_body, google_error_of_reply
from opencrab.adapters.providers.google.request import google_model_id, google_request_body
from opencrab.adapters.providers.google.stream import GoogleAssembly, join_google_chunks
from opencrab.adapters.providers.openai import embedding
from opencrab.adapters.providers.wire.lenient import (
    as_wire_label,
    wire_dict,
    wire_list,
    wire_token_count,
)
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatRequest, Embeddings, ModelInfo


class GoogleWire:
    """The format of Google's Generative Language API (Gemini)."""

    framing: Framing = "sse"
    assembly = GoogleAssembly
    failure = staticmethod(google_error_of_reply)

    def chat_path(self, model: str, *, stream: bool) -> str:
        return _path(model, "streamGenerateContent?alt=sse" if stream else "generateContent")

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        key = {"x-goog-api-key": endpoint.api_key} if endpoint.api_key else {}
        return {"content-type": "application/json", **endpoint.extra_headers, **key}

    def to_wire(
        self,
        request: ChatRequest,
        info: ModelInfo,
        *,
        stream: bool,  # noqa: ARG002  - it is in the path
    ) -> dict[str, Any]:
        return google_request_body(request, info)

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        return google_answer(
            join_google_chunks(body, party) if isinstance(body, list) else body, party
        )

    def models_path(self) -> str:
        return "/models?pageSize=1000"

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        listed = (
            wire_dict(entry).get("name") for entry in wire_list(wire_dict(body).get("models"))
        )
        names = (google_model_id(as_wire_label(name)) for name in listed)
        return tuple(dict.fromkeys(name for name in names if name))

    def embeddings_path(self, model: str) -> str | None:
        return _path(model, "batchEmbedContents")

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        name = f"models/{google_model_id(model)}"
        return {
            "requests": [
                {"model": name, "content": {"parts": [{"text": text or " "}]}} for text in texts
            ]
        }

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        if wire_dict(body).get("error"):
            raise google_error_of_body(body, party)
        rows = map(wire_dict, wire_list(wire_dict(body).get("embeddings")))
        counted = wire_dict(wire_dict(body).get("usageMetadata")).get("promptTokenCount")
        placed = {"data": [{"embedding": row.get("values")} for row in rows]}
        usage = Usage(input_tokens=wire_token_count(counted))
        return embedding.openai_embedding_answer(placed, len(texts), party, usage)


def _path(model: str, method: str) -> str:
    return f"/models/{quote(google_model_id(model), safe='')}:{method}"
