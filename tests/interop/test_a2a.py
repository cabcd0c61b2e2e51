"""A2A's official Python SDK and a running OpenCrab: its client asks ours, ours asks its server."""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.interop.test_mcp import results, tools, trust, write_script, write_settings
from tests.running import KEY, Server, free_port, server

CLIENT = Path(__file__).with_name("a2a_client.py")
SERVER = Path(__file__).with_name("a2a_server.py")
ON = {"OPENCRAB_GATEWAY__A2A__ENABLED": "true", "OPENCRAB_GATEWAY__A2A__AGENT": "蟹"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def a2a_sdk() -> Path:
    """A Python that has A2A's official SDK."""
    environment = ROOT / ".venv-a2a"
    if not (environment / ".ready").is_file():
        pytest.skip("no SDK of A2A: run `make setup`")
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of A2A with one agent, which is slow when it is asked to be."""
    folder = tmp_path_factory.mktemp("a2a")
    script = folder / "script.toml"
    script.write_text(
        '[[answers]]\nwhen = "slow"\ntext = "late"\ndelay_ms = 20000\n\n'
        '[[answers]]\nwhen = "foam"\ntext = "波🦀 and foam"\n\n'
        '[[answers]]\ntext = "潮🦀"\n',
        encoding="utf-8",
    )
    with server(folder / "data", script=script, more=ON) as found:
        agent = {"name": "蟹", "language": "ja", "purpose": "潮を見守る"}
        found.call("POST", "/agents", agent)
        yield found


def test_the_official_client_sends_streams_subscribes_and_stops(
    a2a_sdk: Path, running: Server
) -> None:
    run = subprocess.run(
        [a2a_sdk, CLIENT, f"http://127.0.0.1:{running.port}", KEY],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told: list[dict[str, Any]] = [json.loads(row) for row in run.stdout.splitlines()]
    assert told == [
        {"card": "蟹", "description": "潮を見守る", "version": "1.0"},
        {"said": "潮🦀", "state": "TASK_STATE_COMPLETED", "history": 2},
        {"same": True},
        {"streamed": "波🦀 and foam", "states": ["TASK_STATE_COMPLETED"]},
        {"subscribed": True, "stopped": "TASK_STATE_CANCELED", "told": "TASK_STATE_CANCELED"},
        {"found": "潮🦀", "history": 1},
        {"listed": 2, "more": True},
        {"error": "TaskNotFoundError"},
        {"error": "TaskNotCancelableError"},
    ]


@contextmanager
def tides(python: Path, port: int) -> Iterator[str]:
    """The official SDK's server with an agent; its address."""
    with subprocess.Popen([python, SERVER, str(port)]) as process:
        try:
            until = time.monotonic() + 120
            while not _listens(port):
                assert process.poll() is None
                assert time.monotonic() < until
                threading.Event().wait(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_an_agent_asks_one_of_the_official_server(a2a_sdk: Path, tmp_path: Path) -> None:
    script = write_script(
        tmp_path,
        ("list_peers", {}),
        ("mcp__tides__ask", {"message": "満潮🦀"}),
        ("mcp__tides__ask", {"message": "slow"}),
        ("mcp__tides__ask", {"message": "ask"}),
    )
    with tides(a2a_sdk, free_port()) as url:
        write_settings(tmp_path, f'[mcp.servers.tides]\na2a = "{url}"\n')
        with server(tmp_path / "data", script=script) as running:
            shown = tools(running, "tides")["ask"]
            assert "潮の時刻を知っている" in shown["description"]
            trust(running, "tides", "ask", impact="read")
            session = running.session("蟹")
            running.say(session, "満潮は?", wait=40)
            listed, said, slow, asks = results(running, session)
            turn = running.only_turn(session)
    assert listed["elsewhere"] == [{"name": "tides", "ask_with": "mcp__tides__ask"}]
    assert said["text"] == "満潮🦀 1 26"
    assert said["data"]["state"] == "completed"
    assert slow["text"] == "slow 1 26"
    assert (asks["text"], asks["data"]["state"]) == ("どの港?", "input_required")
    assert turn["tainted"] is True
