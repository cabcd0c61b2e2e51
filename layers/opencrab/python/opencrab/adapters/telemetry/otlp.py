"""OTLP over HTTP (protobuf), by the official SDK: one trace for each turn, and token metrics.

Identifiers are hashes of the turn's, so that a trace is found by its turn, and is the same trace if
it is sent twice. Standard variables (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
`OTEL_EXPORTER_OTLP_HEADERS`, `..._CERTIFICATE`) are read by the SDK.
"""

import atexit
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from math import inf
from threading import Thread
from time import monotonic
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    MetricExportResult,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from opencrab import __version__
from opencrab.domain.telemetry.turn_trace import CHAT, TurnSpan, TurnTrace

log = logging.getLogger(__name__)

SECONDS = 3.0
"""The longest that a turn waits, and that a thread waits for one part of an answer."""

PAUSE_SECONDS = 60.0
"""The time for which nothing is sent after a failure for which a turn had to wait."""

_SCOPE = "opencrab"
_TOKENS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576)
_DURATIONS = tuple(0.01 * 2**step for step in range(14))
"""The conventions' buckets, in tokens and seconds."""

_OF_METRICS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
)


@dataclass
class OtlpTraces:
    """Sends traces to an endpoint such as `http://localhost:4318`.

    In the `background` a thread collects and sends them; otherwise `export` sends and waits, as in
    a function that is frozen between its events. What cannot be sent is logged by the SDK and
    dropped, as is what follows in the next `PAUSE_SECONDS` where turns would wait for it; metrics
    that nobody takes stop no traces. `now` counts seconds.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    background: bool = True
    metrics: bool = True
    now: Callable[[], float] = monotonic
    _paused_until: float = -inf
    _metrics_paused_until: float = -inf

    def export(self, trace: TurnTrace) -> None:
        """Send a trace, or hand it to the thread; drops what cannot be sent."""
        # A fault of somebody else's library or server is none of the turn, which has ended.
        try:
            self._export(trace)
        except Exception:
            log.exception("the telemetry of turn %s is lost", trace.turn_id)

    def _export(self, trace: TurnTrace) -> None:
        spans = self._spans(trace)
        exporter, processor = self._exporters
        if processor is not None:
            for span in spans:
                processor.on_end(span)
            if self.metrics:
                self._measure(trace)
            return
        if self.now() < self._paused_until:
            return
        deadline = monotonic() + SECONDS
        if not _in_time(lambda: exporter.export(spans) is SpanExportResult.SUCCESS, deadline):
            self._paused_until = self.now() + PAUSE_SECONDS
        elif self.metrics and self.now() >= self._metrics_paused_until:
            self._measure(trace)
            if not _in_time(self._flush, deadline):
                self._metrics_paused_until = self.now() + PAUSE_SECONDS

    @cached_property
    def _exporters(self) -> tuple[Any, Any]:
        """The exporter, and the processor with its thread if there is one."""
        exporter = OTLPSpanExporter(
            f"{self.endpoint}/v1/traces", headers=dict(self.headers) or None, timeout=SECONDS
        )
        if not self.background:
            return exporter, None
        processor = BatchSpanProcessor(exporter)
        atexit.register(processor.shutdown)
        return exporter, processor

    @cached_property
    def _resource(self) -> Resource:
        ours = {"service.version": __version__}
        found = Resource.create(ours)
        unnamed = str(found.attributes.get("service.name", "")).startswith("unknown_service")
        return found.merge(Resource({"service.name": _SCOPE})) if unnamed else found

    def _spans(self, trace: TurnTrace) -> list[ReadableSpan]:
        scope = InstrumentationScope(_SCOPE, __version__)

        def made(span: TurnSpan, place: int, parent: SpanContext | None) -> ReadableSpan:
            failed = {"error.type": span.error} if span.error else {}
            return ReadableSpan(
                name=span.name,
                context=_context(trace.turn_id, place),
                parent=parent,
                resource=self._resource,
                attributes={**span.attributes, **failed},
                kind=SpanKind.CLIENT if span.operation == CHAT else SpanKind.INTERNAL,
                status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
                start_time=_nanoseconds(span.started),
                end_time=_nanoseconds(span.ended),
                instrumentation_scope=scope,
            )

        whole = _context(trace.turn_id, 0)
        below = [made(span, place, whole) for place, span in enumerate(trace.calls, start=1)]
        return [made(trace.whole, 0, None), *below]

    @cached_property
    def _meters(self) -> tuple[MeterProvider, "_MetricExporter", Any, Any]:
        """The provider, its exporter, and the histograms of tokens and of seconds."""
        exporter = _MetricExporter(
            f"{self.endpoint}/v1/metrics",
            headers=dict(self.headers) or None,
            timeout=SECONDS,
            # Functions come and go: what each adds is told, and not what it has added so far.
            preferred_temporality={Histogram: AggregationTemporality.DELTA},
        )
        reader = PeriodicExportingMetricReader(
            exporter, export_interval_millis=60_000 if self.background else inf
        )
        provider = MeterProvider([reader], resource=self._resource, shutdown_on_exit=True)
        meter = provider.get_meter(_SCOPE, __version__)
        tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )
        seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_DURATIONS
        )
        return provider, exporter, tokens, seconds

    def _measure(self, trace: TurnTrace) -> None:
        _, _, tokens, seconds = self._meters
        for span in trace.calls:
            if span.operation != CHAT:
                continue
            about = {name: span.attributes[name] for name in _OF_METRICS if name in span.attributes}
            for kind in ("input", "output"):
                if (count := span.attributes.get(f"gen_ai.usage.{kind}_tokens")) is not None:
                    tokens.record(count, {**about, "gen_ai.token.type": kind})
            failed = {"error.type": span.error} if span.error else {}
            seconds.record((span.ended - span.started).total_seconds(), {**about, **failed})

    def _flush(self) -> bool:
        provider, exporter, *_ = self._meters
        provider.force_flush(int(SECONDS * 1_000))
        return exporter.has_succeeded


class _MetricExporter(OTLPMetricExporter):
    """The SDK's, which says whether its last request succeeded; its reader does not."""

    has_succeeded = True

    def export(self, *args: Any, **named: Any) -> MetricExportResult:
        result: MetricExportResult = super().export(*args, **named)
        self.has_succeeded = result is MetricExportResult.SUCCESS
        return result


def _in_time(send: Callable[[], bool], deadline: float) -> bool:
    """Check whether something was sent until a deadline; what takes longer is left alone.

    The SDK's timeout is one for each part of an answer, and none for looking up a name.
    """
    sent = list[bool]()
    thread = Thread(target=lambda: sent.append(send()), name="telemetry", daemon=True)
    thread.start()
    thread.join(max(deadline - monotonic(), 0.0))
    return sent == [True]


def _context(turn_id: str, place: int) -> SpanContext:
    trace = int.from_bytes(sha256(turn_id.encode()).digest()[:16])
    span = int.from_bytes(sha256(f"{turn_id}/{place}".encode()).digest()[:8])
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1_000
