"""Any OpenAI-shaped chat completion server: one request, one answer, no streaming."""

from dataclasses import dataclass, field, replace

from opencrab.adapters.providers.openai_answer import from_wire, parse
from opencrab.adapters.providers.openai_error import Party, failure
from opencrab.adapters.providers.openai_request import encoded
from opencrab.adapters.providers.transport import Reply, Transport, excerpt
from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.domain.record import Answer
from opencrab.ports.model import ChatRequest, ModelInfo

_OK = 200
_SHORTEST_SECRET = 6


@dataclass(frozen=True)
class Endpoint:
    """Where a server is and how to be let in; `key_name` tells the owner where the key is set."""

    provider: str
    base_url: str
    api_key: str = field(default="", repr=False)
    key_name: str = ""
    organization: str = ""


class OpenAIModel:
    """A ChatModel behind an OpenAI-shaped server."""

    def __init__(
        self, endpoint: Endpoint, model: str, info: ModelInfo, transport: Transport
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._info = info
        self._transport = transport
        if not _fits_header(endpoint.api_key) or not _fits_header(endpoint.organization):
            where = endpoint.key_name or "api_key or organization"
            raise Refused(
                f"the key of {endpoint.provider} in {where} has characters that no key has",
                cure=f"set {where} again, without spaces, line breaks or quotes around it",
            )

    @property
    def info(self) -> ModelInfo:
        return self._info

    def encode(self, request: ChatRequest) -> bytes:
        return encoded(replace(request, model=self._model))

    def chat(self, request: ChatRequest, body: bytes) -> Answer:
        try:
            reply = self._transport.send(
                f"{self._endpoint.base_url}/chat/completions",
                headers=self._headers(),
                body=body,
                timeout_seconds=request.timeout_seconds,
            )
            return self._answer(replace(reply, body=self._without_key(reply.body)))
        except OpenCrabError as error:
            error.message = self._without_key(error.message.encode()).decode()
            error.args = (error.message,)
            raise

    def _answer(self, reply: Reply) -> Answer:
        endpoint = self._endpoint
        party = Party(endpoint.provider, self._model, endpoint.key_name)
        if reply.status != _OK:
            raise failure(reply.status, _error_in(reply), party)
        body = parse(reply.body)
        if isinstance(body, dict) and body.get("error"):
            raise failure(reply.status, body["error"], party)
        answer = from_wire(body)
        return answer if answer.model else answer.replaced(model=self._model)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._endpoint.api_key:
            headers["authorization"] = f"Bearer {self._endpoint.api_key}"
        if self._endpoint.organization:
            headers["openai-organization"] = self._endpoint.organization
        return headers

    def _without_key(self, text: bytes) -> bytes:
        """The text without the key, which some servers quote back."""
        key = self._endpoint.api_key.encode()
        return text.replace(key, b"***") if len(key) >= _SHORTEST_SECRET else text


def _error_in(reply: Reply) -> object:
    """The error object of a reply, or the beginning of whatever came instead."""
    try:
        body = parse(reply.body)
    except Unavailable:
        return excerpt(reply.body)
    error = body.get("error") if isinstance(body, dict) else None
    return error or body or excerpt(reply.body)


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
