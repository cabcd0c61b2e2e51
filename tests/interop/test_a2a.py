"""A2A's official Python SDK talks to a running OpenCrab: its client, streaming included."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.running import KEY, Server, server

CLIENT = Path(__file__).with_name("a2a_client.py")
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
