"""AG-UI's own client (`@ag-ui/client`) runs an agent of a running OpenCrab, interrupts included."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.running import KEY, server

CLIENT = Path(__file__).with_name("ag_ui_client.js")
PACKAGES = ROOT / ".node-ag-ui" / "node_modules"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (PACKAGES / "@ag-ui" / "client").exists() or shutil.which("node") is None,
        reason="no client of AG-UI in .node-ag-ui: run `make setup` where npm is installed",
    ),
]


def test_the_official_client_runs_an_agent_and_answers_its_interrupt(tmp_path: Path) -> None:
    with server(tmp_path / "data", more={"OPENCRAB_GATEWAY__AG_UI__ENABLED": "true"}) as running:
        running.call("POST", "/agents", {"name": "kani", "language": "ja", "policy": "strict"})
        place = f"http://127.0.0.1:{running.port}/ag-ui/kani"
        command = [str(shutil.which("node")), str(CLIENT), str(PACKAGES), place, KEY]
        run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr
    told: list[dict[str, Any]] = [json.loads(row) for row in run.stdout.splitlines()]
    talked, asked, call, resumed, refused = told
    assert (talked["said"], talked["outcome"], talked["state"]) == (
        ["潮🦀"],
        "success",
        "completed",
    )
    assert talked["events"] == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
        *("STATE_SNAPSHOT", "RUN_FINISHED"),
    ]
    assert asked == {"outcome": "interrupt", "reason": "tool_call", "pending": 1}
    written = {"path": "memo.txt", "content": "満潮"}
    assert call == {"tool": "ws_write", "arguments": written, "same": True}
    assert (resumed["outcome"], resumed["result"], resumed["answers"]) == ("success", True, True)
    assert "memo.txt" in "".join(resumed["said"])
    assert refused == {"refused": True}
