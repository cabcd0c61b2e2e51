"""Anthropic's messages endpoint, and servers that speak like it, such as llama.cpp's.

The version of the format is pinned on purpose: docs/adr/0013 says which, and why.
"""

from typing import Any, NoReturn

from opencrab.adapters.providers.anthropic.answer import anthropic_answer
from opencrab.adapters.providers.anthropic.error import anthropic_error
from opencrab.adapters.providers.anthropic.request import anthropic_request
from opencrab.adapters.providers.anthropic.stream import AnthropicAssembly
from opencrab.adapters.providers.wire.lenient import as_wire_label, wire_dict, wire_list
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty, Framing
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import Embeddings

VERSION = "2023-06-01"
"""The version that we speak, whatever newer ones there are."""

_MOST_MODELS = 1_000


class AnthropicWire:
    """Anthropic's Messages API; the base URL may or may not end with /v1."""

    framing: Framing = "sse"
    to_wire = staticmethod(anthropic_request)
    from_wire = staticmethod(anthropic_answer)
    assembly = AnthropicAssembly
    failure = staticmethod(anthropic_error)

    def __init__(self, base_url: str = "") -> None:
        self._root = "" if base_url.rstrip("/").endswith("/v1") else "/v1"

    def chat_path(self, model: str, *, stream: bool) -> str:  # noqa: ARG002  - both are in the body
        return f"{self._root}/messages"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        headers = {"anthropic-version": VERSION, **endpoint.extra_headers}
        if endpoint.api_key:
            headers["x-api-key"] = endpoint.api_key
        return headers

    def models_path(self) -> str:
        return f"{self._root}/models?limit={_MOST_MODELS}"

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        entries = wire_list(wire_dict(body).get("data"))
        return tuple(filter(None, (as_wire_label(wire_dict(entry).get("id")) for entry in entries)))

    def embeddings_path(self, model: str) -> str | None:  # noqa: ARG002  - there are none
        return None

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> NoReturn:  # noqa: ARG002
        raise _no_embeddings(model)

    def embeddings_from_wire(
        self,
        body: Any,  # noqa: ARG002
        texts: tuple[str, ...],  # noqa: ARG002
        party: ErrorParty,
    ) -> Embeddings:
        raise _no_embeddings(party.model)


def _no_embeddings(model: str) -> ModelCallFailed:
    return ModelCallFailed(
        f"Anthropic has no embeddings, so {model!r} cannot create them",
        Fault.BAD_REQUEST,
        cure="use an embedding model of another provider",
    )
