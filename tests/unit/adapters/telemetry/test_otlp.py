"""Traces over OTLP, as a receiver with OpenTelemetry's own schema reads them."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from opencrab.adapters.telemetry.otlp import PAUSE_SECONDS, SECONDS, OtlpTraces
from opencrab.domain.telemetry.turn_trace import TurnSpan, TurnTrace
from tests.otlp import attributes_of, receiver

BEGUN = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
CHAT: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt",
    "gen_ai.usage.input_tokens": 900,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.response.finish_reasons": ("stop",),
}


def trace(turn_id: str = "turn-1", *, error: str = "") -> TurnTrace:
    at = [BEGUN + timedelta(milliseconds=each) for each in (0, 250, 1_750, 2_000)]
    whole: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "蟹"}
    chat = TurnSpan("chat gpt", at[1], at[2], CHAT, error)
    return TurnTrace(turn_id, TurnSpan("invoke_agent 蟹", at[0], at[3], whole, error), (chat,))


@pytest.mark.parametrize("background", [True, False])
def test_a_turn_arrives_as_one_trace_with_its_times_and_attributes(
    monkeypatch: pytest.MonkeyPatch, *, background: bool
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    with receiver() as found:
        traces = OtlpTraces(
            found.url, {"authorization": "Basic 鍵".encode().hex()}, background=background
        )
        traces.export(trace())
        whole, chat = found.spans()
    assert whole.trace_id == chat.trace_id
    assert chat.parent_span_id == whole.span_id
    assert not whole.parent_span_id
    assert whole.start_time_unix_nano == int(BEGUN.timestamp()) * 10**9
    assert (chat.end_time_unix_nano - chat.start_time_unix_nano) == 1_500_000_000
    assert (whole.kind, chat.kind) == (1, 3)
    assert attributes_of(whole)["gen_ai.agent.name"] == "蟹"
    assert attributes_of(chat) == {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    assert found.headers[0]["authorization"] == "Basic 鍵".encode().hex()


def test_the_same_turn_is_the_same_trace_and_another_one_another() -> None:
    with receiver() as found:
        traces = OtlpTraces(found.url, background=False, metrics=False)
        seen = []
        for turn_id in ("turn-1", "turn-1", "turn-2"):
            traces.export(trace(turn_id))
            seen.append([(span.trace_id, span.span_id) for span in found.spans()])
    assert seen[0] == seen[1]
    assert not {*seen[0]} & {*seen[2]}


def test_tokens_and_seconds_are_measured_by_model() -> None:
    with receiver() as found:
        traces = OtlpTraces(found.url, background=False)
        traces.export(trace())
        metrics = found.metrics()
        traces.export(trace("turn-2", error="timeout"))
        again = found.metrics()
    points = metrics["gen_ai.client.token.usage"].histogram.data_points
    assert {attributes_of(each)["gen_ai.token.type"]: each.sum for each in points} == {
        "input": 900,
        "output": 20,
    }
    (seconds,) = metrics["gen_ai.client.operation.duration"].histogram.data_points
    assert seconds.sum == 1.5
    # What each adds, and not the sum so far.
    (late,) = again["gen_ai.client.operation.duration"].histogram.data_points
    assert (late.count, attributes_of(late)["error.type"]) == (1, "timeout")


def test_a_failure_is_the_spans_status() -> None:
    with receiver() as found:
        OtlpTraces(found.url, background=False).export(trace(error="rate_limited"))
        spans = found.spans()
    assert [span.status.code for span in spans] == [2, 2]
    assert attributes_of(spans[1])["error.type"] == "rate_limited"


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_receiver_that_refuses_costs_a_turn_nothing_but_a_line_in_the_log(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver(status) as found:
        OtlpTraces(found.url, background=False, metrics=False).export(trace())
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_a_receiver_that_says_nothing_is_given_up_soon_and_left_alone_for_a_while() -> None:
    clock = [0.0]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        traces = OtlpTraces(url, background=False, metrics=False, now=lambda: clock[0])
        begun = time.monotonic()
        traces.export(trace())
        taken = time.monotonic() - begun
        traces.export(trace("turn-2"))
        again = time.monotonic() - begun - taken
    assert again < taken / 10
    assert taken < SECONDS + 1
    with receiver() as found:
        clock[0] = PAUSE_SECONDS
        traces.endpoint, _ = found.url, traces.__dict__.pop("_exporters")
        traces.export(trace("turn-3"))
        assert len(found.spans()) == 2


@contextmanager
def dripping(path: str) -> Iterator[str]:
    """A receiver that takes all, and answers one path with one byte at a time, for ever."""
    done = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "1000" if self.path == path else "0")
            self.end_headers()
            while self.path == path and not done.wait(0.2):
                self.wfile.write(b" ")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        done.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/metrics"])
def test_an_answer_that_never_ends_is_waited_for_once(path: str) -> None:
    with dripping(path) as url:
        traces = OtlpTraces(url, background=False)
        taken = list[float]()
        for turn_id in ("turn-1", "turn-2"):
            begun = time.monotonic()
            traces.export(trace(turn_id))
            taken.append(time.monotonic() - begun)
    assert taken[0] < SECONDS + 1
    assert taken[1] < 1


def test_metrics_that_nobody_takes_stop_no_traces() -> None:
    with receiver(refused="/v1/metrics") as found:
        traces = OtlpTraces(found.url, background=False)
        for turn_id in ("turn-1", "turn-2"):
            traces.export(trace(turn_id))
            assert len(found.spans()) == 2
        # The second turn's metrics were not tried.
        assert len(found.headers) == 3


def test_headers_are_not_shown() -> None:
    assert "secret" not in repr(OtlpTraces("http://example.org", {"authorization": "secret"}))


def test_attributes_are_those_of_the_conventions() -> None:
    known = {getattr(gen_ai_attributes, name) for name in dir(gen_ai_attributes) if name.isupper()}
    assert {name for name in CHAT if name.startswith("gen_ai.")} <= known
