"""A vendor's model behind its wire: a call returns a ModelAnswer or raises ModelCallFailed."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from pydantic_core import to_json

from opencrab.adapters.providers.transport.exchange import (
    ExchangeStopped,
    OpenReply,
    Transport,
)
from opencrab.adapters.providers.vendor_line import VendorLine
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.wire import (
    EmbeddingBatchWire,
    Endpoint,
    QueryEmbeddingWire,
    StreamAssembly,
    UsageLookupWire,
    Wire,
)
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import (
    SETTLE_BY_HAND,
    UNWATCHED,
    AnswerWatch,
    CallUsage,
    ChatRequest,
    Embeddings,
    ModelInfo,
)
from opencrab.ports.models.readiness import ProviderHealth

BATCH = 100
"""How many texts are turned into vectors with one request."""


_CUT = {Fault.TIMEOUT, Fault.BROKEN_OFF}

Clock = Callable[[], float]


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
        self._line = VendorLine(
            self.wire,
            self.endpoint,
            self.model,
            self.transport,
            self.info.leading_blocks,
            self.info.opened_block,
        )


@dataclass
class _Call:
    """One call: what has arrived, who watches it, and the vendor's id of it once that is known."""

    assembly: StreamAssembly
    watch: AnswerWatch
    id: str = ""

    def must_end(self) -> bool:
        """Check whether to stop; an answer that is complete is read to its end."""
        return not self.assembly.is_complete and self.watch.is_stopped()


@dataclass(eq=False)
class VendorModel(_Vendor):
    """A ChatModel over HTTP, with or without streaming (`stream`)."""

    stream: bool = field(default=True, kw_only=True)

    def encode(self, request: ChatRequest) -> bytes:
        request = replace(request, model=self.model)
        return _encode_json(self.wire.to_wire(request, self.info, stream=self.stream))

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        call = _Call(self.wire.assembly(self._line.party), watch)
        with self._line.guarded():
            path = self.wire.chat_path(self.model, stream=self.stream)
            try:
                answer = self._answer(path, body, request.timeout_seconds, call)
            except ExchangeStopped:
                answer = self._line.partial(call.assembly, call.id)
            answer = answer if answer.model else answer.replaced(model=self.model)
            return self._line.secrecy.redact_answer(answer)

    def _answer(self, path: str, body: bytes, timeout_seconds: float, call: "_Call") -> ModelAnswer:
        line, started = self._line, self.clock()
        with (
            line.open(path, body, timeout_seconds, call.must_end) as opened,
            line.named(opened.headers),
        ):
            call.id = line.call_id(opened.headers)
            if not self.stream or _comes_whole(opened, self.wire):
                return line.answer(b"".join(opened.chunks))
            first = self._assembled(call, opened, started)
            if not call.assembly.is_complete:
                message = f"{line.party.provider} closed the connection during the answer"
                raise ModelCallFailed(message, Fault.BROKEN_OFF, billed=True)
            return line.assembled(call.assembly.body()).replaced(first_token_ms=first)

    def _assembled(self, call: "_Call", opened: OpenReply, started: float) -> int | None:
        """Feed the stream to the assembly; return the milliseconds until the first content.

        Raises ExchangeStopped once the call must end.
        """
        first, assembly = None, call.assembly
        try:
            for event in wire_stream_frames(opened.chunks, self.wire.framing):
                self._line.add(event, assembly)
                if first is None and assembly.has_content:
                    first = _milliseconds(self.clock() - started)
                call.watch.show(lambda: self._line.shown(assembly))
                if call.must_end():
                    raise ExchangeStopped
        except ModelCallFailed as error:
            error.may_be_billed = error.may_be_billed or assembly.has_content
            # An answer that came to its own end needs nothing of what was cut off after it.
            if error.fault not in _CUT or not assembly.is_complete:
                raise
        return first


class VendorEmbedder(_Vendor):
    """An Embedder over HTTP."""

    def embed(
        self, texts: tuple[str, ...], *, timeout_seconds: float, query: bool = False
    ) -> Embeddings:
        deadline = self.clock() + timeout_seconds
        whole = Embeddings(vectors=(), model=self.model)
        few = self.wire if isinstance(self.wire, EmbeddingBatchWire) else None
        most = BATCH if few is None else few.texts_per_request(self.model)
        for start in range(0, len(texts), most):
            try:
                remaining = deadline - self.clock()
                part = self._batch(texts[start : start + most], remaining, query=query)
            except ModelCallFailed as error:
                if start and not error.may_be_billed:
                    # The batches before this one were answered, and are on the bill.
                    error.may_be_billed, error.usage = True, whole.usage
                raise
            usage = _sum(whole.usage, part.usage) if start else part.usage
            whole = Embeddings(whole.vectors + part.vectors, usage, part.model or whole.model)
        return whole

    def _batch(self, texts: tuple[str, ...], timeout_seconds: float, *, query: bool) -> Embeddings:
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
            tells = self.wire if isinstance(self.wire, QueryEmbeddingWire) else None
            to_wire = self.wire.embeddings_to_wire
            if query and tells is not None:
                to_wire = tells.queries_to_wire
            reply = self._line.send(path, _encode_json(to_wire(self.model, texts)), timeout_seconds)
            found = self._line.read(
                reply.body,
                lambda body: self.wire.embeddings_from_wire(
                    parse_provider_json(body, party.provider), texts, party
                ),
            )
            if tells is None or found.usage.is_counted:
                return found
            return replace(found, usage=tells.embedding_usage(reply.headers))


def probe_health_of_provider(
    wire: Wire,
    endpoint: Endpoint,
    transport: Transport,
    timeout_seconds: float,
    clock: Clock = time.monotonic,
) -> ProviderHealth:
    """Check a provider by listing its models; every error becomes a problem with its cure."""
    started = clock()
    try:
        line = VendorLine(wire, endpoint, "", transport)
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
            fault=error.fault if isinstance(error, ModelCallFailed) else None,
        )
    return ProviderHealth(
        ok=True,
        latency_ms=_milliseconds(clock() - started),
        models=tuple(map(line.secrecy.redact_text, models)),
        dated=_time_in(reply.headers),
    )


def _time_in(headers: Mapping[str, str]) -> datetime | None:
    """Return the time of a response by the clock of whoever sent it; None if it does not say."""
    try:
        found = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def look_up_usage_at_provider(
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
        line = VendorLine(cast("Wire", wire), endpoint, "", transport)
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


def _encode_json(body: Any) -> bytes:
    """Encode the bytes to send; lone surrogates become question marks."""
    try:
        # In a quarter of the time of `json`.
        return to_json(body)
    except ValueError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def _comes_whole(opened: OpenReply, wire: Wire) -> bool:
    """Check whether a response is not a stream: plain JSON, or an HTML page.

    For NDJSON no check is needed: a whole answer is a stream of one line.
    """
    kind = opened.headers.get("content-type", "").strip().lower()
    return kind.startswith("text/html") or (
        wire.framing != "ndjson" and kind.startswith("application/json")
    )


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
