"""A call that runs: what its server says of its progress is shown, and a stop cancels it."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.http import HttpConnection
from opencrab.adapters.mcp.running_call import TEXT, RunningCall, mcp_progress
from opencrab.adapters.mcp.stdio import StdioConnection
from opencrab.adapters.providers.transport.http_connections import TimedBackend
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpAnswer, McpUnavailable
from tests.unit.adapters.mcp.test_http import at, serving
from tests.unit.adapters.mcp.test_stdio import VARIABLES
from tests.unit.adapters.mcp.test_stdio import serving as starting


class Watch:
    """Watches a call, whose turn is stopped once something was shown, if it `stops`."""

    def __init__(self, *, stops: bool = False, at_once: bool = False) -> None:
        self.shown: list[tuple[float, float | None, str]] = []
        self.stops, self.at_once, self.looks = stops, at_once, 0

    def show(self, done: float, total: float | None, text: str) -> None:
        self.shown.append((done, total, text))

    def is_stopped(self) -> bool:
        self.looks += 1
        return self.at_once or (self.stops and bool(self.shown))


@pytest.fixture
def client() -> Iterator[McpConnections]:
    def connect(server: McpServer) -> HttpConnection | StdioConnection:
        if server.url:
            return HttpConnection(server, TimedBackend())
        return StdioConnection(server, VARIABLES)

    with closing(McpConnections(connect)) as client:
        yield client


def call(client: McpConnections, server: McpServer, watch: Watch | None) -> McpAnswer:
    fingerprint = {each.name: each.fingerprint for each in client.tools(server)}["add"]
    return client.call(server, "add", fingerprint, {"a": 1, "b": 2}, watch=watch)


def require_clean(watch: Watch) -> None:
    """The newest is shown, on one visible line; nothing without a number, or of another call."""
    assert watch.shown
    assert {each[0] for each in watch.shown} <= {1.0, 2.5}
    done, total, text = watch.shown[-1]
    assert (done, total) == (2.5, 4.0)
    assert text.startswith("潮 🦀")
    assert len(text) <= TEXT
    assert text.isprintable()
    text.encode()


def test_progress_of_a_process_is_shown(client: McpConnections, tmp_path: Path) -> None:
    watch = Watch()
    assert call(client, starting("progress", tmp_path), watch) == McpAnswer("合計 3")
    require_clean(watch)


def test_progress_of_an_address_is_shown(client: McpConnections, tmp_path: Path) -> None:
    watch = Watch()
    with serving("progress", tmp_path, streams=True) as place:
        assert call(client, at(place), watch) == McpAnswer("合計 3")
    require_clean(watch)


def test_a_server_that_tells_its_progress_all_the_time_has_sent_no_large_answer(
    client: McpConnections, tmp_path: Path
) -> None:
    with serving("chatty", tmp_path, streams=True) as place:
        assert call(client, at(place), Watch()) == McpAnswer("合計 3")


def test_nobody_is_asked_for_progress_that_nobody_watches(
    client: McpConnections, tmp_path: Path
) -> None:
    assert call(client, starting("good", tmp_path), None) == McpAnswer("合計 3")
    assert "_meta" not in json.loads((tmp_path / "book").read_text("utf-8"))


def test_a_stop_cancels_the_call_of_a_process_which_lives_on(
    client: McpConnections, tmp_path: Path
) -> None:
    server = starting("stuck", tmp_path, timeout_seconds=30)
    began = time.monotonic()
    with pytest.raises(McpUnavailable, match="cancelled") as raised:
        call(client, server, Watch(stops=True))
    assert raised.value.sent
    assert time.monotonic() - began < 20
    # It answers others, whether or not it has heard of it.
    assert len(client.tools(server)) == 3
    (said,) = (tmp_path / "book.cancelled").read_text("utf-8").splitlines()
    asked = json.loads((tmp_path / "book").read_text("utf-8"))
    assert json.loads(said)["requestId"] == asked["_meta"]["progressToken"]


def test_a_stop_cancels_the_call_of_an_address(client: McpConnections, tmp_path: Path) -> None:
    with serving("hang", tmp_path) as place:
        with pytest.raises(McpUnavailable, match="cancelled") as raised:
            # It says nothing, so the second look stops it.
            call(client, at(place, timeout_seconds=30), _Impatient())
        assert raised.value.sent
        asked = next(each for each in place.said if each["method"] == "tools/call")
        deadline, told = time.monotonic() + 60, list[dict[str, Any]]()
        while not told and time.monotonic() < deadline:
            Event().wait(0.02)
            told = [each for each in place.said if each["method"] == "notifications/cancelled"]
        place.leaves.set()
    assert [each["params"]["requestId"] for each in told] == [asked["id"]]


class _Impatient(Watch):
    def is_stopped(self) -> bool:
        return super().is_stopped() or self.looks > 2


def test_a_call_whose_turn_is_stopped_before_it_begins_is_not_made() -> None:
    running, begun = RunningCall(), list[bool]()
    was_stopped, has_ended = Event(), Event()

    def request() -> dict[str, object]:
        was_stopped.wait(10)
        try:
            running.begin(lambda: None)
            begun.append(True)
        finally:
            has_ended.set()
        return {}

    with pytest.raises(McpUnavailable) as raised:
        running.run(request, Watch(at_once=True))
    assert not raised.value.sent
    was_stopped.set()
    assert has_ended.wait(10)
    assert begun == []


@pytest.mark.parametrize(
    "params", [None, [], {}, {"progress": "1"}, {"progress": None}, {"progress": -(10**20)}]
)
def test_what_has_no_number_is_no_progress(params: object) -> None:
    assert mcp_progress(params) is None


def test_a_total_or_words_that_make_no_sense_are_left_out() -> None:
    said = {"progress": 0, "total": "all", "message": {"🦀": 1}}
    assert mcp_progress(said) == (0.0, None, "")
