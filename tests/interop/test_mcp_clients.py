"""Clients of MCP that nobody here wrote talk to a running OpenCrab, over HTTP and standard input.

They are the official Python client, the Inspector's command line, and the conformance suite as far
as it needs no tools of its own making.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.running import KEY, OPENCRAB, Server, server

CLIENT = Path(__file__).with_name("mcp_client.py")
NODE = ROOT / ".node-mcp" / "node_modules" / "@modelcontextprotocol"

pytest_plugins = ["tests.llama.fixture"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

with_node = pytest.mark.skipif(
    not (NODE / "conformance").exists() or shutil.which("node") is None,
    reason="no MCP clients in .node-mcp: run `make setup` where npm is installed",
)

SCENARIOS = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    *("server-sse-multiple-streams", "dns-rebinding-protection"),
)
"""Those of the suite that ask nothing of a server but what it says that it has."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one agent, which is slow when it is asked to be."""
    folder = tmp_path_factory.mktemp("mcp")
    script = folder / "script.toml"
    script.write_text(
        '[[answers]]\nwhen = "slow"\ntext = "late"\ndelay_ms = 20000\n\n'
        '[[answers]]\ntext = "潮🦀"\n',
        encoding="utf-8",
    )
    with server(folder / "data", script=script) as found:
        found.call("POST", "/agents", {"name": "蟹", "language": "ja"})
        yield found


def address(running: Server) -> str:
    return f"http://127.0.0.1:{running.port}"


def command(running: Server) -> list[str]:
    """The command that a client starts, as the documentation has it."""
    given = ["--url", address(running), "--key", KEY]
    return [str(OPENCRAB), *given, "mcp", "serve"]


@pytest.mark.parametrize("how", ["http", "stdio"])
def test_the_official_client_talks_reads_and_stops(sdk: Path, running: Server, how: str) -> None:
    where = [address(running), KEY] if how == "http" else command(running)
    run = subprocess.run(
        [sdk, CLIENT, how, *where], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = {}
    for row in run.stdout.splitlines():
        told |= json.loads(row)
    assert (told["server"], told["revision"]) == ("opencrab", "2025-11-25")
    assert (told["said"], told["again"], told["same"]) == ("潮🦀", "潮🦀", True)
    assert {"ask_agent", "run_task", "decide_approval"} < set(told["tools"])
    assert told["resource"].endswith("潮🦀")
    assert len(told["templates"]) == 2
    assert told["prompt"] == "潮"
    assert (told["progress"], told["pending"]) == (["3 s"], 1)
    assert told["stopped"]
    assert told["several"] == ["潮🦀"] * 4
    assert told["wrong"] is True
    assert "'none'" in told["why"]


def node(program: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a program of npm's to its end."""
    command = [str(shutil.which("node")), str(program), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@with_node
@pytest.mark.parametrize("how", ["http", "stdio"])
def test_the_inspector_lists_and_calls_tools(running: Server, how: str) -> None:
    # The package reads its version from a place that only exists when it is installed alone.
    about = '{"name": "inspector", "version": "1.0.3"}'
    (NODE / "package.json").write_text(about, encoding="utf-8")
    where = command(running)
    if how == "http":
        header = f"Authorization: Bearer {KEY}"
        where = [f"{address(running)}/mcp", "--transport", "http", "--header", header]
    asked = ["--method", "tools/call", "--tool-name", "ask_agent"]
    arguments = ["--tool-arg", "agent=蟹", "--tool-arg", "message=潮は?"]
    place = NODE / "inspector-cli" / "build" / "index.js"
    run = node(place, *where, *asked, *arguments)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["content"] == [{"type": "text", "text": "潮🦀"}]


@pytest.fixture
def keyless(running: Server) -> Iterator[str]:
    """The server behind a proxy that adds the key, which the suite cannot send."""

    class WithKey(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {**self.headers, "authorization": f"Bearer {KEY}"}
            self._pass_on("POST", body, headers)

        def do_GET(self) -> None:
            self._pass_on("GET", None, {**self.headers, "authorization": f"Bearer {KEY}"})

        def _pass_on(self, method: str, body: bytes | None, headers: dict[str, str]) -> None:
            connection = HTTPConnection("127.0.0.1", running.port, timeout=60)
            connection.request(method, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name in ("content-type", "mcp-session-id"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), WithKey) as proxy:
        thread = Thread(target=proxy.serve_forever)
        thread.start()
        yield f"http://localhost:{proxy.server_address[1]}/mcp"
        proxy.shutdown()
        thread.join()


@with_node
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_passes(keyless: str, scenario: str) -> None:
    place = NODE / "conformance" / "dist" / "index.js"
    run = node(place, "server", "--url", keyless, "--scenario", scenario)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 failed" in run.stdout
