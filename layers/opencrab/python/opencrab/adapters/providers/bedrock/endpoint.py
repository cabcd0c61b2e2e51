"""Bedrock's endpoint: Converse for chats, InvokeModel for embeddings, and its list of models."""

from typing import Any
from urllib.parse import quote

from opencrab.adapters.providers.bedrock.answer import bedrock_answer
from opencrab.adapters.providers.bedrock.embedding import (
    COHERE_TEXTS,
    bedrock_embedding_usage,
    cohere_embedding_answer,
    cohere_embedding_request,
    is_cohere_embedding_model,
    is_embedding_model,
    titan_embedding_answer,
    titan_embedding_request,
)
from opencrab.adapters.providers.bedrock.error import bedrock_error
from opencrab.adapters.providers.bedrock.request import bedrock_request
from opencrab.adapters.providers.bedrock.stream import BedrockAssembly
from opencrab.adapters.providers.wire.lenient import as_wire_label, wire_dict, wire_list
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing
from opencrab.ports.models.model import Embeddings


class BedrockWire:
    """Amazon Bedrock's runtime API; without a key, requests are signed on their way."""

    framing: Framing = "aws"
    to_wire = staticmethod(bedrock_request)
    from_wire = staticmethod(bedrock_answer)
    assembly = BedrockAssembly
    failure = staticmethod(bedrock_error)
    embedding_usage = staticmethod(bedrock_embedding_usage)

    def chat_path(self, model: str, *, stream: bool) -> str:
        return f"/model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        return {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}

    def models_path(self) -> str:
        return "/foundation-models"

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        entries = wire_list(wire_dict(body).get("modelSummaries"))
        names = (as_wire_label(wire_dict(entry).get("modelId")) for entry in entries)
        return tuple(filter(None, names))

    def embeddings_path(self, model: str) -> str | None:
        return f"/model/{quote(model, safe='')}/invoke" if is_embedding_model(model) else None

    def texts_per_request(self, model: str) -> int:
        return COHERE_TEXTS if is_cohere_embedding_model(model) else 1

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        if is_cohere_embedding_model(model):
            return cohere_embedding_request(model, texts, "search_document")
        return titan_embedding_request(texts[0])

    def queries_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        if is_cohere_embedding_model(model):
            return cohere_embedding_request(model, texts, "search_query")
        return titan_embedding_request(texts[0])

    def embeddings_from_wire(
        self,
        body: Any,
        texts: tuple[str, ...],
        party: ErrorParty,
    ) -> Embeddings:
        if is_cohere_embedding_model(party.model):
            return cohere_embedding_answer(body, len(texts), party)
        return titan_embedding_answer(body, party)
