"""A vendor's model behind its wire: a call returns a ModelAnswer or raises ModelCallFailed."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeVar, cast

from opencrab.adapters.providers.transport.exchange import OpenReply, Reply, Transport
from opencrab.adapters.providers.wire.framing import stream_frames
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.secrecy import ProviderKeyRedactor
from opencrab.adapters.providers.wire.wire import (
    Endpoint,
    ErrorParty,
    StreamAssembly,
    StreamFrame,
    UsageLookupWire,
    Wire,
)
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import (
    SETTLE_BY_HAND,
    CallUsage,
    ChatRequest,
    Embeddings,
    ModelInfo,
    ProviderHealth,
)

BATCH = 100
"""How many texts are turned into vectors with one request."""

_OK = 200
_ERROR_BYTES = 256 * 1024
_JSON = {"content-type": "application/json"}
_CUT = {Fault.TIMEOUT, Fault.BROKEN_OFF}
_MISREAD = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading raises where a wire was not lenient enough."""

Clock = Callable[[], float]
T = TypeVar("T")


@dataclass(eq=False)
class _Vendor:
    """One model behind a vendor's format (`Wire`); `clock` is monotonic, in seconds.

    Raises Refused if the endpoint's key cannot be sent in a header.
    """

    wire: Wire
    endpoint: Endpoint
    model: str
    info: ModelInfo
    transport: Transport
    _: KW_ONLY
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        self._line = _Line(self.wire, self.endpoint, self.model, self.transport)


@dataclass(eq=False)
class VendorModel(_Vendor):
    """A ChatModel over HTTP, with or without streaming (`stream`)."""

    stream: bool = field(default=True, kw_only=True)

    def encode(self, request: ChatRequest) -> bytes:
        request = replace(request, model=self.model)
        return _encode_json(self.wire.to_wire(request, self.info, stream=self.stream))

    def chat(self, request: ChatRequest, body: bytes) -> ModelAnswer:
        with self._line.guarded():
            path = self.wire.chat_path(self.model, stream=self.stream)
            if self.stream:
                answer = self._streamed(path, body, request.timeout_seconds)
            else:
                reply = self._line.send(path, body, request.timeout_seconds)
                with self._line.named(reply.headers):
                    answer = self._line.answer(reply.body)
            answer = answer if answer.model else answer.replaced(model=self.model)
            return self._line.secrecy.redact_answer(answer)

    def _streamed(self, path: str, body: bytes, timeout_seconds: float) -> ModelAnswer:
        line, started = self._line, self.clock()
        with line.open(path, body, timeout_seconds) as opened, line.named(opened.headers):
            if _comes_whole(opened, self.wire):
                return line.answer(b"".join(opened.chunks))
            assembly = self.wire.assembly(line.party)
            first = self._assembled(assembly, opened, started)
            if not assembly.is_complete:
                message = f"{line.party.provider} closed the connection during the answer"
                raise ModelCallFailed(message, Fault.BROKEN_OFF, billed=True)
            return line.assembled(assembly.body()).replaced(first_token_ms=first)

    def _assembled(self, assembly: StreamAssembly, opened: OpenReply, started: float) -> int | None:
        """Feed the stream to the assembly; return the milliseconds until the first content."""
        first = None
        try:
            for event in stream_frames(opened.chunks, self.wire.framing):
                self._line.add(event, assembly)
                if first is None and assembly.has_content:
                    first = _milliseconds(self.clock() - started)
        except ModelCallFailed as error:
            error.may_be_billed = error.may_be_billed or assembly.has_content
            # An answer that came to its own end needs nothing of what was cut off after it.
            if error.fault not in _CUT or not assembly.is_complete:
                raise
        return first


class VendorEmbedder(_Vendor):
    """An Embedder over HTTP."""

    def embed(self, texts: tuple[str, ...], *, timeout_seconds: float) -> Embeddings:
        deadline = self.clock() + timeout_seconds
        whole = Embeddings(vectors=(), model=self.model)
        for start in range(0, len(texts), BATCH):
            try:
                part = self._batch(texts[start : start + BATCH], deadline - self.clock())
            except ModelCallFailed as error:
                if start and not error.may_be_billed:
                    # The batches before this one were answered, and are on the bill.
                    error.may_be_billed, error.usage = True, whole.usage
                raise
            usage = _sum(whole.usage, part.usage) if start else part.usage
            whole = Embeddings(whole.vectors + part.vectors, usage, part.model or whole.model)
        return whole

    def _batch(self, texts: tuple[str, ...], timeout_seconds: float) -> Embeddings:
        party = self._line.party
        path = self.wire.embeddings_path(self.model)
        if path is None:
            raise ModelCallFailed(
                f"{party.provider} has no embeddings",
                Fault.BAD_REQUEST,
                cure="choose a model of another provider for embeddings",
            )
        if timeout_seconds <= 0:
            raise ModelCallFailed(
                f"the embedding request to {party.provider} timed out", Fault.TIMEOUT, billed=False
            )
        with self._line.guarded():
            body = _encode_json(self.wire.embeddings_to_wire(self.model, texts))
            reply = self._line.send(path, body, timeout_seconds)
            return self._line.read(
                reply.body,
                lambda body: self.wire.embeddings_from_wire(
                    parse_provider_json(body, party.provider), texts, party
                ),
            )


def provider_health(
    wire: Wire,
    endpoint: Endpoint,
    transport: Transport,
    timeout_seconds: float,
    clock: Clock = time.monotonic,
) -> ProviderHealth:
    """Check a provider by listing its models; every error becomes a problem with its cure."""
    started = clock()
    try:
        line = _Line(wire, endpoint, "", transport)
        with line.guarded():
            reply = line.send(wire.models_path(), None, timeout_seconds)
            models = line.read(
                reply.body,
                lambda body: wire.models_from_wire(parse_provider_json(body, endpoint.provider)),
            )
    except OpenCrabError as error:
        return ProviderHealth(
            ok=False,
            latency_ms=_milliseconds(clock() - started),
            problem=error.message,
            cure=error.cure or "check the base_url of the provider, or try again later",
        )
    return ProviderHealth(
        ok=True,
        latency_ms=_milliseconds(clock() - started),
        models=tuple(map(line.secrecy.redact_text, models)),
    )


def look_up_call_usage(
    wire: UsageLookupWire,
    endpoint: Endpoint,
    call_id: str,
    transport: Transport,
    timeout_seconds: float,
) -> CallUsage:
    """Ask a vendor what it counted for a call that has ended; every error becomes a problem."""
    if not call_id:
        return CallUsage(None, f"{endpoint.provider} gave no ID for this call", SETTLE_BY_HAND)
    try:
        line = _Line(cast("Wire", wire), endpoint, "", transport)
        with line.guarded():
            reply = line.send(wire.usage_path(call_id), None, timeout_seconds)
            usage = line.read(
                reply.body,
                lambda body: wire.usage_from_wire(parse_provider_json(body, endpoint.provider)),
            )
    except OpenCrabError as error:
        return CallUsage(None, error.message, SETTLE_BY_HAND)
    if usage is None:
        problem = f"{endpoint.provider} does not tell the cost of this call yet"
        return CallUsage(None, problem, "try again later")
    return CallUsage(usage)


@dataclass(frozen=True)
class _Line:
    """The connection to one model, which validates the key and removes it from errors."""

    wire: Wire
    endpoint: Endpoint
    model: str
    transport: Transport

    def __post_init__(self) -> None:
        endpoint = self.endpoint
        where = endpoint.key_name or "api_key"
        if not _is_plain(endpoint.api_key) or " " in endpoint.api_key:
            raise Refused(
                f"the key of {endpoint.provider} in {where} contains invalid characters",
                cure=f"set {where} again, without spaces, line breaks or quotes around it",
            )
        for name, value in self.wire.headers(endpoint).items():
            if not _is_plain(value):
                raise Refused(
                    f"the header {name} of {endpoint.provider} contains invalid characters",
                    cure="use Latin letters, digits and signs only, on one line",
                )

    @property
    def secrecy(self) -> ProviderKeyRedactor:
        """The redactor of the endpoint's key."""
        return ProviderKeyRedactor(self.endpoint.api_key)

    @property
    def party(self) -> ErrorParty:
        """The provider, model and key name for error messages."""
        return ErrorParty(self.endpoint.provider, self.model, self.endpoint.key_name)

    def send(self, path: str, body: bytes | None, timeout_seconds: float) -> Reply:
        """Send a request and return the whole response; raise ModelCallFailed unless HTTP 200."""
        reply = self.transport.send(
            self.endpoint.base_url + path,
            headers=self._headers() if body is None else _JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
        )
        if reply.status != _OK:
            told = replace(reply, body=self.secrecy.redact_error(reply.body))
            with self.named(reply.headers):
                raise self.wire.failure(told, self.party)
        return reply

    @contextmanager
    def open(self, path: str, body: bytes, timeout_seconds: float) -> Iterator[OpenReply]:
        """Send a request and yield the response as it arrives.

        Raise ModelCallFailed unless HTTP 200.
        """
        with self.transport.open(
            self.endpoint.base_url + path,
            headers=_JSON | self._headers(),
            body=body,
            timeout_seconds=timeout_seconds,
        ) as opened:
            if opened.status != _OK:
                told = self.secrecy.redact_error(_beginning(opened.chunks))
                with self.named(opened.headers):
                    raise self.wire.failure(Reply(opened.status, told, opened.headers), self.party)
            yield opened

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Redact the key from errors, and turn parsing errors into ModelCallFailed."""
        try:
            yield
        except OpenCrabError as error:
            error.message = self.secrecy.redact_text(error.message)
            error.args = (error.message,)
            error.cure = error.cure and self.secrecy.redact_text(error.cure)
            raise error from None
        except _MISREAD as error:
            message = f"the answer of {self.endpoint.provider} is malformed"
            raise ModelCallFailed(f"{message} ({type(error).__name__})", Fault.NONSENSE) from None

    @contextmanager
    def named(self, headers: Mapping[str, str]) -> Iterator[None]:
        """Give errors the vendor's id of the call, by which its cost may be looked up later."""
        try:
            with self.guarded():
                yield
        except ModelCallFailed as error:
            if isinstance(self.wire, UsageLookupWire):
                error.provider_call_id = self.secrecy.redact_text(self.wire.call_id(headers))
            raise

    def answer(self, body: bytes) -> ModelAnswer:
        """Parse a response body into an answer."""
        party = self.party
        return self.read(
            body, lambda body: self.wire.from_wire(parse_provider_json(body, party.provider), party)
        )

    def assembled(self, body: Any) -> ModelAnswer:
        """Parse the assembled body of a stream into an answer."""
        try:
            return self.wire.from_wire(body, self.party)
        except ModelCallFailed:
            return self.wire.from_wire(self.secrecy.redact_json(body), self.party)

    def add(self, event: StreamFrame, assembly: StreamAssembly) -> None:
        """Feed a frame to an assembly; if it holds an error, without the key."""
        try:
            assembly.add(event)
        except ModelCallFailed:
            told = self.secrecy.redact_error(event.data.encode("utf-8", "replace"))
            assembly.add(replace(event, data=told.decode("utf-8", "replace")))

    def read(self, body: bytes, read: Callable[[bytes], T]) -> T:
        """Parse a body; if it holds an error, parse it again without the key."""
        try:
            return read(body)
        except ModelCallFailed:
            return read(self.secrecy.redact_error(body))

    def _headers(self) -> dict[str, str]:
        return {"accept": "application/json", **self.wire.headers(self.endpoint)}


def _encode_json(body: Any) -> bytes:
    """Encode the bytes to send; lone surrogates become question marks."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _comes_whole(opened: OpenReply, wire: Wire) -> bool:
    """Check whether a response is not a stream: plain JSON, or an HTML page.

    For NDJSON no check is needed: a whole answer is a stream of one line.
    """
    kind = opened.headers.get("content-type", "").strip().lower()
    return kind.startswith("text/html") or (
        wire.framing == "sse" and kind.startswith("application/json")
    )


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """Read up to 256 KiB of an error's body, even if the connection breaks."""
    received = bytearray()
    try:
        for chunk in chunks:
            received += chunk
            if len(received) > _ERROR_BYTES:
                break
    except ModelCallFailed:
        pass
    return bytes(received[:_ERROR_BYTES])


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable() and value == value.strip()


def _milliseconds(seconds: float) -> int:
    return max(round(seconds * 1_000), 0)


def _sum(one: Usage, other: Usage) -> Usage:
    """Add token counts; a cost counts only if both report one."""
    counts = {
        name: value + getattr(other, name)
        for name, value in one
        if isinstance(value, int) and getattr(other, name) is not None
    }
    return Usage(**counts)
