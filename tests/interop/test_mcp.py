"""Official MCP servers, from npm, as actions of an agent of a running `opencrab up`."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.mcp.connections import McpConnections
from opencrab.adapters.mcp.http import HttpConnection
from opencrab.adapters.mcp.stdio import StdioConnection
from opencrab.adapters.providers.transport.http_connections import TimedBackend
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpUnavailable
from tests.conftest import ROOT
from tests.running import Server, free_port, server

SERVERS = ROOT / ".node-mcp" / "node_modules" / "@modelcontextprotocol"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not SERVERS.exists() or shutil.which("node") is None,
        reason="no MCP servers in .node-mcp: run `make setup` where npm is installed",
    ),
]


def program(name: str) -> str:
    """The program of an official server."""
    return str(SERVERS / f"server-{name}" / "dist" / "index.js")


def write_settings(folder: Path, text: str) -> None:
    """Write the owner's settings file."""
    place = folder / "config" / "opencrab" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")


def write_script(folder: Path, *calls: tuple[str, dict[str, Any]]) -> Path:
    """Write what the scripted model answers: these calls, one a step, and then `done`."""
    answers = [
        f"[[answers]]\ncalls = [{{name = {json.dumps(name)}, arguments = {_text(given)}}}]"
        for name, given in calls
    ]
    place = folder / "script.toml"
    place.write_text("\n".join([*answers, '[[answers]]\ntext = "done"\n']), encoding="utf-8")
    return place


def _text(given: dict[str, Any]) -> str:
    """Arguments as a model writes them: a JSON object, which TOML takes as a string."""
    return f"'''{json.dumps(given, ensure_ascii=False)}'''"


def tools(running: Server, name: str) -> dict[str, Any]:
    """The tools of a server, by name."""
    found = running.call("GET", f"/mcp/servers/{name}/tools")["items"]
    return {each["name"]: each for each in found}


def trust(running: Server, name: str, tool: str, **rules: Any) -> str:
    """Trust a tool as it is listed; the name of its action."""
    body = {"fingerprint": tools(running, name)[tool]["fingerprint"], **rules}
    return str(running.call("PUT", f"/mcp/servers/{name}/tools/{tool}", body)["action"])


def results(running: Server, session: str) -> list[Any]:
    """The results of the calls of the session's only turn, which ends before."""
    return [call["data"] for step in running.only_turn(session)["steps"] for call in step["calls"]]


def test_the_filesystem_and_the_memory_server_work_for_an_agent(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "潮.md").write_text("満潮は六時", encoding="utf-8")
    write_settings(
        tmp_path,
        f"""
[mcp.servers.files]
command = "node"
args = [{json.dumps(program("filesystem"))}, {json.dumps(str(notes))}]
[mcp.servers.memory]
command = "node"
args = [{json.dumps(program("memory"))}]
env = {{MEMORY_FILE_PATH = {json.dumps(str(tmp_path / "memory.jsonl"))}}}
""",
    )
    script = write_script(
        tmp_path,
        ("mcp__files__read_text_file", {"path": str(notes / "潮.md")}),
        ("mcp__files__write_file", {"path": str(notes / "new.md"), "content": "干潮は正午"}),
    )
    with server(tmp_path / "data", script=script) as running:
        names = {each["name"] for each in running.call("GET", "/mcp/servers")["items"]}
        assert names == {"files", "memory"}
        trust(running, "files", "read_text_file", impact="read", effect="pure")
        trust(running, "files", "write_file")
        assert "create_entities" in tools(running, "memory")
        session = running.session("蟹")
        running.say(session, "潮を読んで、書いて", wait=20)
        (waiting,) = running.call("GET", "/approvals")["items"]
        assert waiting["what"] == (
            "MCPサーバーfilesのツールwrite_fileを呼び出す (mcp__files__write_file)"
        )
        assert not (notes / "new.md").exists(), "nothing runs unasked"
        running.call("POST", f"/approvals/{waiting['id']}/decide", {"approved": True}, wait=20)
        read, written = results(running, session)
        assert "満潮は六時" in json.dumps(read, ensure_ascii=False)
        assert "Successfully wrote" in json.dumps(written)
        assert (notes / "new.md").read_text("utf-8") == "干潮は正午"


@contextmanager
def everything(port: int) -> Iterator[str]:
    """The official server of all features, over Streamable HTTP; its URL."""
    environment = {"PORT": str(port), "PATH": str(Path(shutil.which("node") or "").parent)}
    command = ["node", program("everything"), "streamableHttp"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "listening" in line:
                break
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def test_a_server_over_streamable_http_works_for_an_agent(tmp_path: Path) -> None:
    with everything(free_port()) as url:
        write_settings(tmp_path, f'[mcp.servers.every]\nurl = "{url}"\n')
        script = write_script(
            tmp_path,
            ("mcp__every__get_sum", {"a": 2, "b": 40}),
            ("mcp__every__get_structured_content", {"location": "Chicago"}),
            ("mcp__every__get_tiny_image", {}),
        )
        with server(tmp_path / "data", script=script) as running:
            assert len(tools(running, "every")) > 8
            for tool in ("get-sum", "get-structured-content", "get-tiny-image"):
                trust(running, "every", tool, impact="read", effect="pure")
            session = running.session("Rowan")
            running.say(session, "add", wait=20)
            told = [json.dumps(each) for each in results(running, session)]
    summed, structured, picture = told
    assert "The sum of 2 and 40 is 42." in summed
    assert '"temperature"' in structured
    assert "[image, image/png," in picture


class Watch:
    """Watches a call, and stops its turn once `most` signs of progress were shown."""

    def __init__(self, most: int = 1_000) -> None:
        self.shown: list[tuple[float, float | None, str]] = []
        self.most = most

    def show(self, done: float, total: float | None, text: str) -> None:
        self.shown.append((done, total, text))

    def is_stopped(self) -> bool:
        return len(self.shown) >= self.most


@contextmanager
def everything_over(way: str) -> Iterator[McpServer]:
    """The official server of all features, as it is configured in one of two ways."""
    if way == "stdio":
        given = {"command": shutil.which("node") or "", "args": (program("everything"), "stdio")}
        yield McpServer(name="every", timeout_seconds=20, **given)  # type: ignore[arg-type]
        return
    with everything(free_port()) as url:
        yield McpServer(name="every", url=url, timeout_seconds=20)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_long_call_tells_its_progress_and_is_cancelled_with_its_turn(way: str) -> None:
    def connect(server: McpServer) -> HttpConnection | StdioConnection:
        if server.url:
            return HttpConnection(server, TimedBackend())
        return StdioConnection(server, {"PATH": str(Path(shutil.which("node") or "").parent)})

    tool = "trigger-long-running-operation"
    with everything_over(way) as server, closing(McpConnections(connect)) as client:
        pinned = {each.name: each.fingerprint for each in client.tools(server)}[tool]
        watch, stopped = Watch(), Watch(most=1)
        told = client.call(server, tool, pinned, {"duration": 2, "steps": 4}, watch=watch)
        assert "completed" in told.text
        assert watch.shown[-1][:2] == (4.0, 4.0)
        assert len(watch.shown) >= 3
        began = time.monotonic()
        with pytest.raises(McpUnavailable, match="cancelled"):
            client.call(server, tool, pinned, {"duration": 15, "steps": 30}, watch=stopped)
        assert time.monotonic() - began < 10
        # The server is still there for others.
        assert client.call(server, tool, pinned, {"duration": 1, "steps": 1}).text
