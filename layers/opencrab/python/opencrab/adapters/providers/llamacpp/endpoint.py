"""llama.cpp's own server: OpenAI's format, with a few words of its own for what went wrong."""

from typing import Any

from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.transport.exchange import Reply, response_excerpt
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import ChatRequest, ModelInfo

_NOT_IMPLEMENTED = 501


class LlamaCppWire(OpenAIWire):
    """The OpenAI-compatible API of llama.cpp below `/v1`; HTTP 501 means a missing start option."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Add `connection: close`: the server closes after a stream without announcing it.

        A request that follows at once on the same connection would be lost.
        """
        return {"connection": "close", **super().headers(endpoint)}

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        """Add the schema of the answer, which the server turns into a grammar.

        A grammar and tools exclude each other: with tools the server makes its own.
        """
        body = super().to_wire(request, info, stream=stream)
        if request.answer_schema is not None and "tools" not in body:
            form = {"name": "answer", "schema": request.answer_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        if reply.status != _NOT_IMPLEMENTED:
            return super().failure(reply, party)
        return ModelCallFailed(
            f"{party.provider} was started without this ability ({reply.status}): "
            f"{response_excerpt(reply.body)}",
            Fault.BAD_REQUEST,
            cure="start the server with this ability, such as --embeddings or --jinja",
        )
