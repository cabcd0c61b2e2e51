"""Wire: what a vendor's module must say of its format, so that one code can speak to all of them.

A wire is pure: no network, no clock, no state. Whatever arrives becomes an Answer or Unanswered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ChatRequest, Embeddings, ModelInfo

Framing = Literal["sse", "ndjson"]


@dataclass(frozen=True)
class Endpoint:
    """Where a server is and how to be let in; `key_name` tells the owner where the key is set.

    `extra_headers` are a vendor's own, such as OpenAI's organization.
    """

    provider: str
    base_url: str
    api_key: str = field(default="", repr=False)
    key_name: str = ""
    extra_headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorParty:
    """Whom an error is about: the provider, its model, and where its key is set."""

    provider: str = "the provider"
    model: str = ""
    key_name: str = ""


@dataclass(frozen=True)
class StreamFrame:
    """One frame of a stream: its name, where the framing has names, and its data."""

    data: str
    name: str = ""


class StreamAssembly(Protocol):
    """Puts a stream together into the body that the same answer has in one piece."""

    @property
    def began(self) -> bool:
        """Whether any word, thought or call has come."""

    @property
    def ended(self) -> bool:
        """Whether the vendor's own end has come: without it the stream was cut."""

    def add(self, event: StreamFrame) -> None:
        """Take one frame; frames of unknown kinds are ignored.

        Raises ModelCallFailed for an error inside the stream (billed, if anything had begun or was
        counted, and with a usage only if that is final), and for a frame that is no JSON.
        """

    def body(self) -> Any:
        """What has come so far, as `Wire.from_wire` reads it."""


class Wire(Protocol):
    """One vendor's format."""

    framing: Framing

    def chat_path(self, model: str, *, stream: bool) -> str:
        """The path below the base URL; the model's name is quoted where it is a part of it."""

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Headers of every request, the key among them; a key is never in an address."""

    def to_wire(self, request: ChatRequest, info: ModelInfo, *, stream: bool) -> dict[str, Any]:
        """The body of a chat request; what the model does not support is left out."""

    def from_wire(self, body: Any, party: ErrorParty) -> ModelAnswer:
        """The answer that a body holds: lenient wherever servers are known to be careless."""

    def assembly(self, party: ErrorParty) -> StreamAssembly:
        """A new assembly for one stream."""

    def failure(self, reply: Reply, party: ErrorParty) -> ModelCallFailed:
        """The error for a reply whose status is not 200, sorted by what to do about it."""

    def models_path(self) -> str:
        """The path below the base URL under which the provider lists its models, for GET."""

    def models_from_wire(self, body: Any) -> tuple[str, ...]:
        """The ids in such a list, as `chat_path` and `to_wire` take them."""

    def embeddings_path(self, model: str) -> str | None:
        """The path below the base URL; None where the vendor has no embeddings."""

    def embeddings_to_wire(self, model: str, texts: tuple[str, ...]) -> dict[str, Any]:
        """The body of an embeddings request."""

    def embeddings_from_wire(
        self, body: Any, texts: tuple[str, ...], party: ErrorParty
    ) -> Embeddings:
        """As many vectors as texts, in their order; raises ModelCallFailed otherwise."""
