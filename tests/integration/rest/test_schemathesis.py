"""A stranger reads the OpenAPI document and tries everything: whatever it sends, no 5xx."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.integration.rest.house import documented
from tests.running import KEY, server
from tests.soak import SOAK, count

HOME = ROOT / ".venv-schemathesis"
SEED = 20_260_217
EXAMPLES = count("requests of schemathesis for each operation")
SECONDS = 600 if not SOAK else 4 * 3_600
LEFT_OUT = ("session_events", "task_events", "revoke_key")
"""Two may never end, the last may revoke the key that the run itself uses."""


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 10)
def test_no_request_that_the_document_allows_or_forbids_breaks_the_server(tmp_path: Path) -> None:
    if not (HOME / ".ready").is_file():
        pytest.skip("schemathesis is not installed in .venv-schemathesis: run `make setup`")
    with server(tmp_path / "data") as running:
        session_id = running.session("カニ")
        running.say(session_id, "こんにちは")
        command = [
            str(HOME / "bin" / "schemathesis"),
            *("run", str(ROOT / "infra" / "openapi.json")),
            *("--url", f"http://127.0.0.1:{running.port}"),
            *("--header", f"Authorization:Bearer {KEY}"),
            *("--phases", "examples,coverage,fuzzing"),
            *("--checks", "not_a_server_error", "--continue-on-failure", "--no-shrink"),
            *("--max-examples", str(EXAMPLES), "--seed", str(SEED), "--workers", "2"),
            *(word for name in LEFT_OUT for word in ("--exclude-operation-id", name)),
            *("--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"),
        ]
        run = subprocess.run(
            command, capture_output=True, check=False, cwd=tmp_path, text=True, timeout=SECONDS
        )
        assert running.call("GET", "/health")["status"] == "ok"
    operations = sum(map(len, documented()["paths"].values()))
    assert f"Tested: {operations - len(LEFT_OUT)}" in run.stdout, run.stdout[-6_000:]
    assert run.returncode == 0, run.stdout[-6_000:] + run.stderr[-2_000:]
