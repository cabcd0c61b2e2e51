"""Servers at an address: those that behave, and those that redirect, forget, hang and flood."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import httpcore
import pytest

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.http import HttpConnection
from opencrab.adapters.providers.transport.http_connections import TimedBackend
from opencrab.adapters.web.connection import PinnedBackend
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpAnswer, McpUnavailable
from tests.unit.adapters.mcp.servers import answers

SECRET = "Bearer sk-KANARI"


class Place:
    """A server in a mode, and the requests that it got; `status` is what it must answer."""

    def __init__(self, mode: str, folder: Path, *, streams: bool) -> None:
        self.mode, self.folder, self.streams = mode, folder, streams
        self.status = 0
        self.sessions = 0
        self.current = ""
        self.got: list[tuple[str, str, dict[str, str]]] = []
        self.said: list[dict[str, Any]] = []
        self.leaves = threading.Event()
        self.url = ""

    def book(self) -> int:
        """How often a tool was called."""
        path = self.folder / "book"
        return len(path.read_text("utf-8").splitlines()) if path.exists() else 0


class Handler(BaseHTTPRequestHandler):
    """The requests to a place."""

    @property
    def place(self) -> Place:
        place: Place = cast(Any, self.server).place
        return place

    def log_message(self, *_: Any) -> None:
        pass

    def do_DELETE(self) -> None:
        self.place.got.append(("DELETE", self.path, dict(self.headers)))
        self._end(204)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.place.got.append(("POST", self.path, dict(self.headers)))
        message = json.loads(body)
        self.place.said.append(message)
        if self.place.status:
            self._end(self.place.status, location="http://127.0.0.1:1/elsewhere")
        elif "id" not in message or "method" not in message:
            self._end(202)
        elif message["method"] == "initialize":
            self.place.sessions += 1
            self.place.current = f"s{self.place.sessions}"
            self._answer(message, self.place.current)
        elif self.headers.get("mcp-session-id") != self.place.current:
            self._end(404)
        elif message["method"] == "tools/call" and self.place.mode == "hang":
            self.place.leaves.wait(30)
        else:
            self._answer(message, "")

    def _answer(self, message: dict[str, Any], session: str) -> None:
        lines = list(answers(self.place.mode, self.place.folder / "book", message))
        self.send_response(200)
        kind = "text/event-stream" if self.place.streams else "application/json"
        self.send_header("content-type", kind)
        if session:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        asked = {"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage"}
        before = [": ping", f"data: {json.dumps(asked)}", ""]
        events = [f"event: message\r\ndata: {line}\r\n" for line in lines]
        text = "\n".join(before + events) + "\n" if self.place.streams else lines[-1]
        try:
            self.wfile.write(text.encode())
        except OSError:
            self.place.leaves.set()

    def _end(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()


@contextmanager
def serving(mode: str, folder: Path, *, streams: bool = False) -> Iterator[Place]:
    place = Place(mode, folder, streams=streams)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cast(Any, server).place = place
        server.daemon_threads = True
        place.url = f"http://127.0.0.1:{server.server_port}/mcp?tenant=蟹".replace("蟹", "kani")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield place
        place.leaves.set()
        server.shutdown()


@pytest.fixture
def client() -> Iterator[McpConnections]:
    backend: httpcore.NetworkBackend = TimedBackend()
    with closing(McpConnections(lambda server: HttpConnection(server, backend))) as client:
        yield client


def at(place: Place, **changes: Any) -> McpServer:
    """The server of a place."""
    return McpServer(name="kani", url=place.url, headers={"Authorization": SECRET}, **changes)


def call(client: McpConnections, server: McpServer) -> McpAnswer:
    (add, *_) = client.tools(server)
    return client.call(server, "add", add.fingerprint, {"a": 1, "b": 2})


@pytest.mark.parametrize("streams", [False, True])
def test_tools_are_listed_and_called(
    client: McpConnections, tmp_path: Path, *, streams: bool
) -> None:
    with serving("good", tmp_path, streams=streams) as place:
        assert call(client, at(place)) == McpAnswer("合計 3")
        client.close()
    paths = {path for _, path, _ in place.got}
    headers = [{name.lower(): each for name, each in found.items()} for *_, found in place.got]
    assert paths == {"/mcp?tenant=kani"}
    assert {each["authorization"] for each in headers} == {SECRET}
    assert "mcp-session-id" not in headers[0]
    assert headers[-2]["mcp-protocol-version"] == "2025-11-25"
    assert [method for method, *_ in place.got][-1] == "DELETE"
    refused = [each for each in place.said if each.get("id") == "s1"]
    assert all(each["error"]["code"] == -32601 for each in refused)
    assert bool(refused) is streams


def test_an_address_in_another_script_is_encoded(client: McpConnections, tmp_path: Path) -> None:
    with serving("good", tmp_path) as place:
        place.url = place.url.replace("/mcp", "/蟹/mcp")
        assert call(client, at(place)).text == "合計 3"
    assert {path for _, path, _ in place.got} == {"/%E8%9F%B9/mcp?tenant=kani"}


def test_a_session_that_the_server_forgot_is_opened_again(
    client: McpConnections, tmp_path: Path
) -> None:
    with serving("good", tmp_path) as place:
        assert call(client, at(place)).text == "合計 3"
        place.current = "forgotten"
        assert call(client, at(place)).text == "合計 3"
        assert place.sessions == 2
    assert place.book() == 2


def test_a_tool_that_changed_with_a_new_session_is_not_called(
    client: McpConnections, tmp_path: Path
) -> None:
    with serving("good", tmp_path) as place:
        server = at(place)
        (add, *_) = client.tools(server)
        # The server starts again, as another release of it.
        place.current = "forgotten"
        (tmp_path / "book.rug").touch()
        with pytest.raises(Refused, match="has changed the tool add; nothing was sent"):
            client.call(server, "add", add.fingerprint, {"a": 1, "b": 2})
        assert place.sessions == 2
    assert place.book() == 0


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (301, "redirects to another address"),
        (307, "redirects to another address"),
        (401, r"accepts no request without a valid token \(status 401\)"),
        (403, r"refuses \(status 403\)"),
    ],
)
def test_redirects_are_not_followed_and_sign_ins_not_made(
    client: McpConnections, tmp_path: Path, status: int, told: str
) -> None:
    with serving("good", tmp_path) as place:
        place.status = status
        with pytest.raises(Refused, match=told) as caught:
            client.tools(at(place))
    assert len(place.got) == 1
    assert "KANARI" not in f"{caught.value.message} {caught.value.cure}"
    assert "mcp.servers.kani." in str(caught.value.cure)


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("hang", "it did not answer in time"),
        ("big", "more than 4194304 bytes"),
        ("garbage", "neither a result nor an error"),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_a_call_that_fails_may_have_been_made(
    client: McpConnections, tmp_path: Path, mode: str, told: str, *, streams: bool
) -> None:
    with serving(mode, tmp_path, streams=streams) as place:
        with pytest.raises(McpUnavailable, match=told) as caught:
            call(client, at(place, timeout_seconds=2 if mode == "hang" else 60))
        assert caught.value.sent
        assert "KANARI" not in caught.value.message


def test_errors_of_the_server_are_told_by_their_number(
    client: McpConnections, tmp_path: Path
) -> None:
    with serving("good", tmp_path) as place:
        place.status = 500
        with pytest.raises(McpUnavailable, match="it answered with status 500"):
            client.tools(at(place))


def test_an_address_where_nobody_listens_was_sent_nothing(client: McpConnections) -> None:
    server = McpServer(name="kani", url="http://127.0.0.1:9/mcp")
    with pytest.raises(McpUnavailable, match="no connection to its address") as caught:
        client.tools(server)
    assert not caught.value.sent


@pytest.mark.parametrize("number", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"])
def test_on_aws_a_name_must_lie_on_the_public_internet(tmp_path: Path, number: str) -> None:
    backend = PinnedBackend(TimedBackend(), lambda _name, _port: [number])
    server = McpServer(name="kani", url="http://mcp.example.org/mcp")
    with (
        closing(McpConnections(lambda one: HttpConnection(one, backend))) as client,
        pytest.raises(Refused, match="is not on the public internet"),
    ):
        client.tools(server)
