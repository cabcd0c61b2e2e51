"""A receiver of OTLP over HTTP, which reads what comes with OpenTelemetry's own schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_READ: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


@dataclass
class Receiver:
    """What came, by path, and the headers of each request."""

    port: int
    came: dict[str, Queue[Any]] = field(default_factory=lambda: {path: Queue() for path in _READ})
    headers: list[dict[str, str]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The endpoint that a user would configure."""
        return f"http://127.0.0.1:{self.port}"

    def spans(self, seconds: float = 30) -> list[Any]:
        """The spans of the next request."""
        (resource,) = self.came["/v1/traces"].get(timeout=seconds).resource_spans
        self.resources.append(attributes_of(resource.resource))
        return [span for scope in resource.scope_spans for span in scope.spans]

    def metrics(self, seconds: float = 30) -> dict[str, Any]:
        """The metrics of the next request, by name."""
        (resource,) = self.came["/v1/metrics"].get(timeout=seconds).resource_metrics
        return {one.name: one for scope in resource.scope_metrics for one in scope.metrics}


@contextmanager
def receiver(status: int = 200, *, refused: str = "") -> Iterator[Receiver]:
    """A receiver that answers each request with this status, and one path with 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            found.came[self.path].put(_READ[self.path].FromString(body))
            self.send_response(404 if self.path == refused else status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(server.server_address[1])
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def attributes_of(span: Any) -> dict[str, Any]:
    """The attributes of a span or a resource as values of Python."""
    return {each.key: _value(each.value) for each in span.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return [_value(each) for each in found.values] if kind == "array_value" else found
