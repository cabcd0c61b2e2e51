"""OpenAI's chat completions, which many servers speak, and Azure's way to be let in to them."""

from typing import Any

from opencrab.adapters.providers.openai import answer, embedding, error
from opencrab.adapters.providers.openai import request as request_format
from opencrab.adapters.providers.openai.stream import OpenAIChatAssembly
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.lenient import as_wire_label, wire_dict, wire_list
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing, StreamAssembly
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatRequest, Embeddings, ModelInfo


class OpenAIWire:
    """OpenAI's chat completions API, as xAI, DeepSeek, vLLM and LM Studio also offer it."""

    framing: Framing = "sse"

    def chat_path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002  - one path for all
        return self._path("/chat/completions")

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        extra = {name.lower(): value for name, value in endpoint.extra_headers.items()}
        return extra | self._key(endpoint.api_key)

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        return request_format.openai_request(request, info, stream=stream)

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        return answer.openai_answer(body, party, self.usage)

    def assembly(self, party: ErrorParty) -> StreamAssembly:
        return OpenAIChatAssembly(party, self.usage)

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        return error.openai_error(reply, party)

    def usage(self, body: dict[str, Any], party: ErrorParty) -> Usage:
        """Return the tokens, or the cost, that a body reports."""
        return answer.openai_usage(body, party)

    def models_path(self) -> str:
        return self._path("/models")

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        entries = wire_list(body) or wire_list(wire_dict(body).get("data"))
        names = (as_wire_label(wire_dict(entry).get("id")) for entry in entries)
        return tuple(dict.fromkeys(filter(None, names)))

    def embeddings_path(self, model: str) -> str | None:  # noqa: ARG002  - one path for all
        return self._path("/embeddings")

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        return embedding.openai_embedding_request(model, texts)

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        usage = self.usage(wire_dict(body), party)
        return embedding.openai_embedding_answer(body, len(texts), party, usage)

    def _key(self, api_key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def _path(self, path: str) -> str:
        return path


class AzureWire(OpenAIWire):
    """OpenAI's models on Azure: below `/openai/v1`, where `model` is the deployment's name.

    With an `api_version` it also supports the older `/openai/deployments/NAME`.
    """

    def __init__(self, api_version: str = "") -> None:
        self._api_version = api_version

    def _key(self, api_key: str) -> dict[str, str]:
        return {"api-key": api_key} if api_key else {}

    def _path(self, path: str) -> str:
        return f"{path}?api-version={self._api_version}" if self._api_version else path
