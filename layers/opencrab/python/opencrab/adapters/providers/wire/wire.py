"""Wire: what a vendor's module must say of its format, so that one code can speak to all of them.

A wire is pure: no network, no clock, nothing that changes between calls. Whatever arrives becomes a
ModelAnswer, or raises ModelCallFailed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatRequest, Embeddings, ModelInfo

Framing = Literal["sse", "ndjson", "aws"]
"""How a stream is framed; `aws` is its binary event stream."""


@dataclass(frozen=True)
class Endpoint:
    """A server's address and credentials; `key_name` tells the owner where the key is set.

    `extra_headers` are a vendor's own, such as OpenAI's organization.
    """

    provider: str
    base_url: str
    api_key: str = field(default="", repr=False)
    key_name: str = ""
    extra_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorParty:
    """The subject of an error: the provider, its model, and where its key is set."""

    provider: str = "the provider"
    model: str = ""
    key_name: str = ""


@dataclass(frozen=True)
class StreamFrame:
    """One frame of a stream: its data, and its event name if the framing has names."""

    data: str
    name: str = ""


class StreamAssembly(Protocol):
    """The assembly of a stream into the body of the equivalent non-streaming response."""

    @property
    def has_content(self) -> bool:
        """True if any text, thinking or tool call has arrived."""

    @property
    def is_complete(self) -> bool:
        """True if the stream's final frame has arrived; without it the stream was cut off."""

    @property
    def text(self) -> str:
        """The answer's text that has arrived, thinking excluded, as the vendor sent it."""

    @property
    def has_calls(self) -> bool:
        """True if any tool call has begun to arrive."""

    def add(self, event: StreamFrame) -> None:
        """Process one frame; ignore frames of unknown kinds.

        Raises ModelCallFailed for a malformed frame and for an error inside the stream; that is
        billed if content or token counts had arrived, and has a usage only if that is final.
        """

    def body(self) -> Any:
        """Return what has arrived so far, in the form that `Wire.from_wire` reads."""


class Wire(Protocol):
    """One vendor's API format."""

    framing: Framing

    def chat_path(self, model: str, *, stream: bool) -> str:
        """Return the path below the base URL; a model name in it is percent-encoded."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers of every request, with the key; a key is never in a URL."""

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        """Build the body of a chat request, without features that the model does not support."""

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        """Parse a body into an answer; lenient where servers are known to deviate."""

    def assembly(self, party: ErrorParty) -> StreamAssembly:
        """Create a new assembly for one stream."""

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        """Return the error for a response whose status code is not 200, by what to do about it."""

    def models_path(self) -> str:
        """Return the path below the base URL that lists the models, for GET."""

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        """Return the model ids of such a list, as `chat_path` and `to_wire` take them."""

    def embeddings_path(self, model: str) -> str | None:
        """Return the path below the base URL; None if the vendor has no embeddings."""

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        """Build the body of an embeddings request."""

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        """Return one vector per text, in order; raise ModelCallFailed otherwise."""


@runtime_checkable
class EmbeddingBatchWire(Protocol):
    """The format of a vendor that takes few texts in one embeddings request."""

    def texts_per_request(self, model: str) -> int:
        """Return the most texts in one request to a model."""


@runtime_checkable
class QueryEmbeddingWire(Protocol):
    """The format of a vendor whose models tell queries from documents, or count in a header."""

    def queries_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        """Build the body of an embeddings request for texts that are searched with."""

    def embedding_usage(self, headers: Mapping[str, str]) -> Usage:
        """Return the tokens that the headers of a response count; empty if they count none."""


@runtime_checkable
class UsageLookupWire(Protocol):
    """The format of a vendor that tells what a call cost after its end, also if it broke off."""

    def call_id(self, headers: Mapping[str, str]) -> str:
        """Return the vendor's id of a call, from the headers of its response; "" if absent."""

    def usage_path(self, call_id: str) -> str:
        """Return the path below the base URL that tells a call's usage, for GET."""

    def usage_from_wire(self, body: Any) -> Usage | None:
        """Return the tokens and the cost of a call; None if the body does not tell the cost."""
