"""HTTP APIs by their description: a real FastAPI application, and descriptions of every kind."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import httpcore
import pytest
from fastapi import FastAPI

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.openapi import OpenApiConnection
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpAnswer, McpUnavailable
from tests.http_api import serving

TOKEN = "Bearer 秘密".encode().hex()


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[FastAPI, str]]:
    """The API at an address."""
    with serving() as found:
        yield found


class Backend(httpcore.SyncBackend):
    """A backend whose timeouts are deadlines, as ours."""

    def connect_tcp(self, *args: Any, **named: Any) -> Any:
        return super().connect_tcp(*args, **{**named, "timeout": 5})


def client() -> McpConnections:
    return McpConnections(lambda server: OpenApiConnection(server, Backend()))


def called(url: str, tool: str, arguments: dict[str, Any], **fields: Any) -> McpAnswer:
    """Call a tool as it is listed now."""
    server = McpServer(name="api", openapi=f"{url}/openapi.json", **fields)
    asked = client()
    listed = {each.name: each for each in asked.tools(server)}
    try:
        return asked.call(server, tool, listed[tool].fingerprint, arguments)
    finally:
        asked.close()


def test_operations_are_listed_as_tools(running: tuple[FastAPI, str]) -> None:
    found = client().tools(McpServer(name="api", openapi=f"{running[1]}/openapi.json"))
    tools = {each.name: each for each in found}
    names = {"getTides", "addNote", "plain", "picture", "broken", "elsewhere"}
    assert {*tools} == names | {"unclear", "failing"}
    assert "潮の満ち引き" in tools["getTides"].description
    assert tools["getTides"].hints == ("readOnlyHint", "idempotentHint")
    assert tools["addNote"].hints == ()
    assert (
        tools["addNote"].parameters["properties"]["body"]["properties"]["text"]["type"] == "string"
    )
    assert {each.problem for each in found} == {""}


def test_only_named_operations_are_tools_where_some_are_named(
    running: tuple[FastAPI, str],
) -> None:
    server = McpServer(name="api", openapi=f"{running[1]}/openapi.json", operations=("plain",))
    assert [each.name for each in client().tools(server)] == ["plain"]


def test_a_header_of_the_settings_makes_its_operation_possible(
    running: tuple[FastAPI, str],
) -> None:
    headers = {"X-Scope": "tides"}
    answer = called(running[1], "needsHeader", {}, headers=headers)
    assert answer.text == '"tides"'


def test_arguments_reach_path_and_query(running: tuple[FastAPI, str]) -> None:
    place = "七里ヶ浜/east?x=1&y#z"
    answer = called(running[1], "getTides", {"place": "東京 湾", "days": [1, 2], "high": True})
    assert answer.data == {"place": "東京 湾", "days": [1, 2], "high": True, "潮": "干潮"}
    # A slash stays in its step of the path, so no other operation is reached.
    assert called(running[1], "getTides", {"place": place}).is_error


def test_a_body_is_sent_with_the_settings_header(running: tuple[FastAPI, str]) -> None:
    app, url = running
    note = {"text": "干潮🦀", "tags": ["海"]}
    answer = called(url, "addNote", {"body": note}, headers={"Authorization": TOKEN})
    assert answer.data == {"stored": "干潮🦀", "tags": ["海"]}
    assert app.state.seen[-1] == TOKEN


@pytest.mark.parametrize("step", ["..", ".", ""])
def test_no_argument_climbs_out_of_its_step(running: tuple[FastAPI, str], step: str) -> None:
    answer = called(running[1], "getTides", {"place": step})
    assert answer.is_error
    assert "place cannot be" in answer.text


@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        ("plain", "満潮", False),
        ("picture", "[image/png, 36 bytes: left out]", False),
        ("broken", 'status 422: {"detail":"その場所はありません"}', True),
    ],
)
def test_answers_of_every_kind(
    running: tuple[FastAPI, str], tool: str, text: str, *, is_error: bool
) -> None:
    answer = called(running[1], tool, {})
    assert (answer.text, answer.is_error) == (text, is_error)


def test_a_redirect_is_refused(running: tuple[FastAPI, str]) -> None:
    with pytest.raises(Refused, match="redirects to another address"):
        called(running[1], "elsewhere", {})


@pytest.mark.parametrize("status", [500, 502, 504, 302, 303])
def test_a_change_that_may_have_been_done_is_not_called_failed(
    running: tuple[FastAPI, str], status: int
) -> None:
    app, url = running
    with pytest.raises(McpUnavailable, match=f"answered with status {status}") as caught:
        called(url, "unclear", {"status": status})
    assert caught.value.sent
    assert app.state.seen[-1] == status


def test_a_change_that_was_redirected_elsewhere_is_refused(running: tuple[FastAPI, str]) -> None:
    with pytest.raises(Refused, match="redirects to another address"):
        called(running[1], "unclear", {"status": 307})


def test_what_a_failing_server_says_of_a_question_is_read(running: tuple[FastAPI, str]) -> None:
    answer = called(running[1], "failing", {})
    assert answer.is_error
    assert answer.text.startswith("status 503:")
    assert "嵐" in answer.text


def test_a_listing_of_another_thread_changes_no_verified_call(
    running: tuple[FastAPI, str],
) -> None:
    app, url = running
    server = McpServer(name="api", openapi=f"{url}/openapi.json")
    made = list[OpenApiConnection]()

    def connect(server: McpServer) -> OpenApiConnection:
        made.append(OpenApiConnection(server, Backend()))
        return made[-1]

    asked = McpConnections(connect)
    asked.tools(server)
    app.servers, app.openapi_schema = [{"url": "/admin"}], None
    try:
        # Verified on the first connection, and not sent yet.
        asked.tools(server)
        late = made[0].request("tools/call", {"name": "plain"}, monotonic() + 10)
        assert late["content"][0]["text"] == "満潮"
        assert [each.is_open for each in made] == [False, True]
    finally:
        app.servers, app.openapi_schema = [], None
        asked.close()


@pytest.mark.parametrize("address", ["http://[", "//evil.example.org", "https://a@evil.example"])
def test_an_odd_address_is_another_host(running: tuple[FastAPI, str], address: str) -> None:
    app, url = running
    app.servers, app.openapi_schema = [{"url": address}], None
    try:
        with pytest.raises(Refused, match="another host than its description"):
            client().tools(McpServer(name="api", openapi=f"{url}/openapi.json"))
    finally:
        app.servers, app.openapi_schema = [], None


def test_an_address_with_a_query_is_told(running: tuple[FastAPI, str]) -> None:
    app, url = running
    app.servers, app.openapi_schema = [{"url": "/v1?key=1#x"}], None
    try:
        with pytest.raises(McpUnavailable, match="has more than a path"):
            client().tools(McpServer(name="api", openapi=f"{url}/openapi.json"))
    finally:
        app.servers, app.openapi_schema = [], None


def described(folder: Path, document: object) -> McpServer:
    path = folder / "api.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return McpServer(name="api", openapi=str(path), url="http://127.0.0.1:9")


def test_a_file_describes_an_api_at_the_settings_address(tmp_path: Path) -> None:
    server = described(tmp_path, {"openapi": "3.1.0", "paths": {"/a": {"get": {}}}})
    (tool,) = client().tools(server)
    assert (tool.name, tool.description) == ("get_a", "GET /a")


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"swagger": "2.0"}, "no description by OpenAPI 3"),
        ([], "no description by OpenAPI 3"),
        ("text", "no description by OpenAPI 3"),
    ],
)
def test_what_is_no_description_is_said(tmp_path: Path, document: object, why: str) -> None:
    with pytest.raises(McpUnavailable, match=why):
        client().tools(described(tmp_path, document))


def test_a_file_that_is_missing_or_too_large_is_said(tmp_path: Path) -> None:
    server = McpServer(name="api", openapi=str(tmp_path / "none.json"), url="http://127.0.0.1:9")
    with pytest.raises(McpUnavailable, match="cannot be read: No such file"):
        client().tools(server)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (4 * 1024 * 1024 + 1))
    with pytest.raises(McpUnavailable, match="too large"):
        client().tools(server.replaced(openapi=str(large)))


def test_an_api_at_another_host_needs_the_owners_word(
    running: tuple[FastAPI, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, url = running
    app.servers = [{"url": "https://evil.example.org/"}]
    app.openapi_schema = None
    try:
        with pytest.raises(Refused, match="another host than its description"):
            client().tools(McpServer(name="api", openapi=f"{url}/openapi.json"))
    finally:
        app.servers, app.openapi_schema = [], None


def test_a_description_that_moves_an_operation_is_a_changed_tool(
    running: tuple[FastAPI, str],
) -> None:
    app, url = running
    server, asked = McpServer(name="api", openapi=f"{url}/openapi.json"), client()
    before = {each.name: each.fingerprint for each in asked.tools(server)}
    app.servers, app.openapi_schema = [{"url": "/admin"}], None
    try:
        asked.tools(server)
        assert asked.changed_tools(server, before) == frozenset(before)
        with pytest.raises(Refused, match="has changed the tool plain; nothing was sent"):
            asked.call(server, "plain", before["plain"], {})
    finally:
        app.servers, app.openapi_schema = [], None
        asked.close()


def test_an_api_that_nobody_serves_is_told() -> None:
    server = McpServer(name="api", openapi="http://127.0.0.1:9/openapi.json")
    with pytest.raises(McpUnavailable, match="no connection to its address"):
        client().tools(server)
