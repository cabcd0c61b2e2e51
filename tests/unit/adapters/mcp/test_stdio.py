"""Servers that are processes: those that behave, and those that hang, crash, lie and flood."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.stdio import StdioConnection
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpAnswer, McpUnavailable

PROGRAM = Path(__file__).with_name("servers.py")
SECRET = "sk-KANARI"
VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "OPENAI_API_KEY": SECRET}


@pytest.fixture
def client() -> Iterator[McpConnections]:
    with closing(McpConnections(lambda server: StdioConnection(server, VARIABLES))) as client:
        yield client


def serving(mode: str, tmp_path: Path, **changes: Any) -> McpServer:
    """The server in a mode."""
    args = (str(PROGRAM), mode, str(tmp_path / "book"))
    return McpServer(name="kani", command=sys.executable, args=args, **changes)


def call(client: McpConnections, server: McpServer, name: str = "add", **given: Any) -> McpAnswer:
    """Call a tool as it is listed now."""
    fingerprint = {each.name: each.fingerprint for each in client.tools(server)}[name]
    return client.call(server, name, fingerprint, given or {"a": 1, "b": 2})


def book(tmp_path: Path) -> list[str]:
    """The calls that the server was asked for."""
    path = tmp_path / "book"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def test_tools_are_listed_and_called(client: McpConnections, tmp_path: Path) -> None:
    server = serving("good", tmp_path)
    add, _, look = client.tools(server)
    assert (add.name, add.description, add.problem) == ("add", "潮を足す。", "")
    assert add.parameters["required"] == ["a", "b"]
    assert look.hints == ("readOnlyHint",)
    assert call(client, server) == McpAnswer("合計 3")
    assert call(client, server, "fail") == McpAnswer("tide is out", is_error=True)
    shown = call(client, server, "look")
    assert shown == McpAnswer("[image, image/png, 3 bytes: left out]", {"crabs": 3})
    assert len(book(tmp_path)) == 3


def test_a_server_that_logs_to_its_output_is_understood(
    client: McpConnections, tmp_path: Path
) -> None:
    assert call(client, serving("banner", tmp_path)).text == "合計 3"


def test_an_answer_to_another_request_is_no_answer(client: McpConnections, tmp_path: Path) -> None:
    assert call(client, serving("wrong_id", tmp_path)).text == "the right one"


@pytest.mark.parametrize(
    ("mode", "told", "sent"),
    [
        ("hang", "did not answer tools/call in time", True),
        ("crash", "it ended", True),
        ("big", "a message larger than 4194304 bytes", True),
        ("garbage", "neither a result nor an error", True),
    ],
)
def test_a_call_that_fails_says_whether_it_may_have_been_made(
    client: McpConnections, tmp_path: Path, mode: str, told: str, *, sent: bool
) -> None:
    server = serving(mode, tmp_path, timeout_seconds=3 if mode == "hang" else 60)
    before = time.monotonic()
    with pytest.raises(McpUnavailable, match=told) as caught:
        call(client, server)
    assert time.monotonic() - before < 60
    assert caught.value.sent is sent
    assert len(book(tmp_path)) == 1
    good = serving("good", tmp_path)
    assert call(client, good).text == "合計 3", "another server in its place works at once"


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("hang_start", "did not answer initialize in time"),
        ("old", "none of the revisions"),
        ("too_deep", "answered tools/list with neither a result nor an error"),
        ("flood", "lines that are no messages"),
    ],
)
def test_a_server_that_cannot_be_used_was_not_called(
    client: McpConnections, tmp_path: Path, mode: str, told: str
) -> None:
    server = serving(mode, tmp_path, timeout_seconds=3 if mode == "hang_start" else 60)
    with pytest.raises(McpUnavailable, match=told):
        client.tools(server)
    with pytest.raises(McpUnavailable, match=told) as caught:
        client.call(server, "add", "0" * 64, {"a": 1, "b": 2})
    assert not caught.value.sent
    assert book(tmp_path) == []


def test_a_command_that_is_not_there_is_named_by_its_setting(
    client: McpConnections, tmp_path: Path
) -> None:
    server = McpServer(name="kani", command=str(tmp_path / "nowhere"))
    with pytest.raises(McpUnavailable, match="does not start: No such file") as caught:
        client.tools(server)
    assert caught.value.cure == "correct mcp.servers.kani.command"


def test_a_long_result_is_cut_at_a_character(client: McpConnections, tmp_path: Path) -> None:
    answer = call(client, serving("long", tmp_path, max_result_kb=4))
    assert answer.text.startswith("蟹" * 1_365)
    assert answer.text.endswith("\n[cut: 600,000 bytes in all]")
    assert len(answer.text.encode()) < 4_200


def test_words_that_have_no_utf8_are_replaced(client: McpConnections, tmp_path: Path) -> None:
    assert call(client, serving("half", tmp_path)).text == "蟹\ufffdA"


def test_sampling_elicitation_and_roots_are_refused(client: McpConnections, tmp_path: Path) -> None:
    assert call(client, serving("asks", tmp_path)).text == "合計 3"
    said = [json.loads(line) for line in (tmp_path / "book.asked").read_text().splitlines()]
    assert [each.get("error", {}).get("code") for each in said] == [-32601] * 3 + [None]
    assert said[3] == {"jsonrpc": "2.0", "id": "s9", "result": {}}


def test_schemas_that_cannot_be_read_are_named_and_harmless(
    client: McpConnections, tmp_path: Path
) -> None:
    found = {each.name: each for each in client.tools(serving("invalid_schema", tmp_path))}
    assert {name for name, each in found.items() if each.problem} == {
        *("list", "text", "array", "bad name 蟹", "huge"),
    }
    assert len(json.dumps(found["endless"].parameters)) < 2_000
    assert found["outside"].parameters["properties"] == {"x": {}}


def test_a_tool_that_changed_is_not_called(client: McpConnections, tmp_path: Path) -> None:
    server = serving("good", tmp_path)
    trusted = {each.name: each.fingerprint for each in client.tools(server)}
    assert client.changed_tools(server, trusted) == frozenset()
    (tmp_path / "book.rug").touch()
    client.tools(server)
    assert client.changed_tools(server, trusted) == {"add"}
    with pytest.raises(Refused, match="has changed the tool add; nothing was sent"):
        client.call(server, "add", trusted["add"], {"a": 1, "b": 2})
    with pytest.raises(Refused, match="no longer has the tool gone"):
        client.call(server, "gone", "0" * 64, {})
    assert book(tmp_path) == []


def test_a_process_gets_no_secret_of_ours_and_ends_with_us(tmp_path: Path) -> None:
    place = tmp_path / "variables"
    program = (
        "import json, os, pathlib, subprocess, sys, time;"
        "child = subprocess.Popen(['sleep', '3600']);"
        f"pathlib.Path({str(place)!r}).write_text(json.dumps([dict(os.environ), child.pid]));"
        "sys.stdin.read(); time.sleep(3600)"
    )
    server = McpServer(
        name="kani", command=sys.executable, args=("-c", program), env={"MINE": "塩"}
    )
    connection = StdioConnection(server, VARIABLES)
    patience = Event()
    while not (place.exists() and place.read_text().endswith("]")):
        patience.wait(0.02)
    seen, child = json.loads(place.read_text())
    assert SECRET not in seen.values()
    assert (seen["MINE"], seen["PATH"]) == ("塩", VARIABLES["PATH"])
    connection.close()
    assert not connection.is_open
    deadline = time.monotonic() + 30  # the system ends a process soon after the signal
    while _lives(child):
        assert time.monotonic() < deadline, "what it started has ended with it"
        patience.wait(0.02)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
