"""A vendor's model behind its wire: whatever happens on the way is an Answer or Unanswered."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opencrab.adapters.providers.framing import events
from opencrab.adapters.providers.reading import parse
from opencrab.adapters.providers.transport import Opened, Reply, Transport
from opencrab.adapters.providers.wire import Assembly, Endpoint, Party, Wire
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.domain.fault import Fault, Unanswered
from opencrab.domain.money import Usage
from opencrab.domain.record import Answer
from opencrab.ports.model import ChatRequest, Embeddings, ModelInfo, ProviderHealth

BATCH = 100
"""How many texts are turned into vectors with one request."""

_OK = 200
_ERROR_BYTES = 256 * 1024
_SHORTEST_SECRET = 6
_JSON = {"content-type": "application/json"}
_HIDDEN = "***"
_CUT = {Fault.TIMEOUT, Fault.BROKEN_OFF}
_MISREAD = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading raises where a wire was not lenient enough."""

Clock = Callable[[], float]


class VendorModel:
    """A ChatModel behind any wire; `clock` counts seconds from anywhere, as time.monotonic does.

    Raises Refused when no header can carry the endpoint's key.
    """

    def __init__(
        self,
        wire: Wire,
        endpoint: Endpoint,
        model: str,
        info: ModelInfo,
        transport: Transport,
        *,
        stream: bool = True,
        clock: Clock = time.monotonic,
    ) -> None:
        self._line = _Line(wire, endpoint, model, transport)
        self._wire = wire
        self._model = model
        self._info = info
        self._stream = stream
        self._clock = clock

    @property
    def info(self) -> ModelInfo:
        return self._info

    def encode(self, request: ChatRequest) -> bytes:
        request = replace(request, model=self._model)
        return _encoded(self._wire.to_wire(request, self._info, stream=self._stream))

    def chat(self, request: ChatRequest, body: bytes) -> Answer:
        with self._line.guarded():
            path = self._wire.chat_path(self._model, stream=self._stream)
            if self._stream:
                answer = self._streamed(path, body, request.timeout_seconds)
            else:
                reply = self._line.send(path, body, request.timeout_seconds)
                answer = self._wire.from_wire(parse(reply.body), self._line.party)
            return answer if answer.model else answer.replaced(model=self._model)

    def _streamed(self, path: str, body: bytes, timeout_seconds: float) -> Answer:
        line, started = self._line, self._clock()
        with line.open(path, body, timeout_seconds) as opened:
            if _comes_whole(opened, self._wire):
                whole = line.masked(b"".join(opened.chunks))
                return self._wire.from_wire(parse(whole), line.party)
            assembly = self._wire.assembly(line.party)
            first = self._assembled(assembly, opened, started)
        if not assembly.ended:
            message = f"{line.party.provider} broke off in the middle of the answer"
            raise Unanswered(message, Fault.BROKEN_OFF, billed=True)
        answer = self._wire.from_wire(assembly.body(), line.party)
        return answer.replaced(first_token_ms=first)

    def _assembled(self, assembly: Assembly, opened: Opened, started: float) -> int | None:
        """Hand the stream to the assembly; after how many milliseconds its first words came."""
        first = None
        try:
            for event in events(opened.chunks, self._wire.framing):
                assembly.add(replace(event, data=self._line.hidden(event.data)))
                if first is None and assembly.began:
                    first = _milliseconds(self._clock() - started)
        except Unanswered as error:
            error.may_be_billed = error.may_be_billed or assembly.began
            # An answer that came to its own end needs nothing of what was cut off after it.
            if error.fault not in _CUT or not assembly.ended:
                raise
        return first


class VendorEmbedder:
    """An Embedder behind any wire; raises Refused as VendorModel does."""

    def __init__(
        self,
        wire: Wire,
        endpoint: Endpoint,
        model: str,
        info: ModelInfo,
        transport: Transport,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self._line = _Line(wire, endpoint, model, transport)
        self._wire = wire
        self._model = model
        self._info = info
        self._clock = clock

    @property
    def info(self) -> ModelInfo:
        return self._info

    def embed(self, texts: tuple[str, ...], *, timeout_seconds: float) -> Embeddings:
        deadline = self._clock() + timeout_seconds
        whole = Embeddings(vectors=(), model=self._model)
        for start in range(0, len(texts), BATCH):
            try:
                part = self._batch(texts[start : start + BATCH], deadline - self._clock())
            except Unanswered as error:
                if start and not error.may_be_billed:
                    # The batches before this one were answered, and are on the bill.
                    error.may_be_billed, error.usage = True, whole.usage
                raise
            usage = _sum(whole.usage, part.usage) if start else part.usage
            whole = Embeddings(whole.vectors + part.vectors, usage, part.model or whole.model)
        return whole

    def _batch(self, texts: tuple[str, ...], timeout_seconds: float) -> Embeddings:
        party = self._line.party
        path = self._wire.embeddings_path(self._model)
        if path is None:
            raise Unanswered(
                f"{party.provider} has no embeddings",
                Fault.BAD_REQUEST,
                cure="choose a model of another provider for embeddings",
            )
        if timeout_seconds <= 0:
            raise Unanswered("the time for embeddings is over", Fault.TIMEOUT, billed=False)
        with self._line.guarded():
            body = _encoded(self._wire.embeddings_to_wire(self._model, texts))
            reply = self._line.send(path, body, timeout_seconds)
            return self._wire.embeddings_from_wire(parse(reply.body), texts, party)


def provider_health(
    wire: Wire,
    endpoint: Endpoint,
    transport: Transport,
    timeout_seconds: float,
    clock: Clock = time.monotonic,
) -> ProviderHealth:
    """Ask a provider for its models; whatever goes wrong is told as a problem with its cure."""
    started = clock()
    try:
        line = _Line(wire, endpoint, "", transport)
        with line.guarded():
            reply = line.send(wire.models_path(), None, timeout_seconds)
            models = wire.models_from_wire(parse(reply.body))
    except OpenCrabError as error:
        return ProviderHealth(
            ok=False,
            latency_ms=_milliseconds(clock() - started),
            problem=error.message,
            cure=error.cure or "check the base_url of the provider, or try again later",
        )
    return ProviderHealth(ok=True, latency_ms=_milliseconds(clock() - started), models=models)


@dataclass(frozen=True)
class _Line:
    """The way to one model of a provider, on which its key is neither lost nor told."""

    wire: Wire
    endpoint: Endpoint
    model: str
    transport: Transport

    def __post_init__(self) -> None:
        endpoint = self.endpoint
        where = endpoint.key_name or "api_key"
        if not _is_plain(endpoint.api_key) or " " in endpoint.api_key:
            raise Refused(
                f"the key of {endpoint.provider} in {where} has characters that no key has",
                cure=f"set {where} again, without spaces, line breaks or quotes around it",
            )
        for name, value in self.wire.headers(endpoint).items():
            if not _is_plain(value):
                raise Refused(
                    f"the header {name} of {endpoint.provider} has characters that none can carry",
                    cure="use Latin letters, digits and signs only, on one line",
                )

    @property
    def party(self) -> Party:
        """Whom errors are about."""
        return Party(self.endpoint.provider, self.model, self.endpoint.key_name)

    def send(self, path: str, body: bytes | None, timeout_seconds: float) -> Reply:
        """The reply in one piece; raises Unanswered unless its status is 200."""
        reply = self.transport.send(
            self.endpoint.base_url + path,
            headers=self._headers() if body is None else _JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
        )
        reply = replace(reply, body=self.masked(reply.body))
        if reply.status != _OK:
            raise self.wire.failure(reply, self.party)
        return reply

    @contextmanager
    def open(self, path: str, body: bytes, timeout_seconds: float) -> Iterator[Opened]:
        """The reply as it comes; raises Unanswered unless its status is 200."""
        with self.transport.open(
            self.endpoint.base_url + path,
            headers=_JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
        ) as opened:
            if opened.status != _OK:
                told = self.masked(_beginning(opened.chunks))
                raise self.wire.failure(Reply(opened.status, told, opened.headers), self.party)
            yield opened

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Let nothing but Unanswered out, and no error that quotes the key."""
        try:
            yield
        except OpenCrabError as error:
            error.message = self.hidden(error.message)
            error.args = (error.message,)
            error.cure = error.cure and self.hidden(error.cure)
            raise error from None
        except _MISREAD as error:
            message = f"the answer of {self.endpoint.provider} cannot be read"
            raise Unanswered(f"{message} ({type(error).__name__})", Fault.NONSENSE) from None

    def hidden(self, text: str) -> str:
        """The text without the key, which some servers quote back."""
        key = self.endpoint.api_key
        return text.replace(key, _HIDDEN) if len(key) >= _SHORTEST_SECRET else text

    def masked(self, body: bytes) -> bytes:
        """A body without the key, nor its beginning where the body was cut."""
        key = self.endpoint.api_key.encode()
        if len(key) < _SHORTEST_SECRET:
            return body
        body = body.replace(key, _HIDDEN.encode())
        for length in range(len(key) - 1, _SHORTEST_SECRET - 1, -1):
            if body.endswith(key[:length]):
                return body[:-length] + _HIDDEN.encode()
        return body

    def _headers(self) -> dict[str, str]:
        return {"accept": "application/json", **self.wire.headers(self.endpoint)}


def _encoded(body: Any) -> bytes:
    """The exact bytes that are sent; what UTF-8 cannot say becomes a question mark."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _comes_whole(opened: Opened, wire: Wire) -> bool:
    """Whether this is no stream: the server ignored that one was asked for, or it is a page.

    With lines of JSON nothing tells an answer in one piece from a stream, nor need it: one line is
    a stream as well.
    """
    kind = opened.headers.get("content-type", "").strip().lower()
    return kind.startswith("text/html") or (
        wire.framing == "sse" and kind.startswith("application/json")
    )


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """What can be had of an error's body; its status counts even where the body breaks off."""
    received = bytearray()
    try:
        for chunk in chunks:
            received += chunk
            if len(received) > _ERROR_BYTES:
                break
    except Unanswered:
        pass
    return bytes(received[:_ERROR_BYTES])


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and value == value.strip()


def _milliseconds(seconds: float) -> int:
    return max(round(seconds * 1_000), 0)


def _sum(one: Usage, other: Usage) -> Usage:
    """Both together; a cost that only one of them reports is not the cost of both."""
    counts = {
        name: value + getattr(other, name)
        for name, value in one
        if isinstance(value, int) and getattr(other, name) is not None
    }
    return Usage(**counts)
