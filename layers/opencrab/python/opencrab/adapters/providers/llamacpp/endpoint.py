"""llama.cpp's own server: OpenAI's format, with a few words of its own for what went wrong."""

from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.transport.exchange import Reply, response_excerpt
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_NOT_IMPLEMENTED = 501


class LlamaCppWire(OpenAIWire):
    """The format below `/v1`; what the server was not started for cannot be had by waiting."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Without keeping the connection: the server hangs up after a stream and does not say so.

        A request that follows at once would meet the end of the connection and be lost.
        """
        return {"connection": "close", **super().headers(endpoint)}

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        if reply.status != _NOT_IMPLEMENTED:
            return super().failure(reply, party)
        return ModelCallFailed(
            f"{party.provider} was started without this ability ({reply.status}): "
            f"{response_excerpt(reply.body)}",
            Fault.BAD_REQUEST,
            cure="start the server with this ability, such as --embeddings or --jinja",
        )
