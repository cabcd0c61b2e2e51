"""OpenAI's Responses API, and Azure's, for the models that chat completions do not serve."""

from typing import Any

from opencrab.adapters.providers.openai.endpoint import AzureWire, OpenAIWire
from opencrab.adapters.providers.responses.answer import responses_answer
from opencrab.adapters.providers.responses.request import responses_request
from opencrab.adapters.providers.responses.stream import ResponsesAssembly
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamAssembly
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatRequest, ModelInfo


class ResponsesWire(OpenAIWire):
    """The Responses API; keys, errors, models and embeddings are those of chat completions."""

    def chat_path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002  - one path for all
        return self._path("/responses")

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        return responses_request(request, info, stream=stream)

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        return responses_answer(body, party, self.usage)

    def assembly(self, party: ErrorParty) -> StreamAssembly:
        return ResponsesAssembly(party, self.usage)


class AzureResponsesWire(ResponsesWire, AzureWire):
    """The Responses API of OpenAI's models on Azure."""
