"""Processes restored from one snapshot: as copies of a process that was built, by `fork`.

What Lambda itself does (the snapshot, the restore, new entropy in the system) is not here; what is
ours is: nothing is opened or drawn before an event, and what copies share is drawn anew.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.unit.adapters.door.test_credentials import SERVED
from tests.unit.adapters.listening import answer, listening
from tests.unit.bootstrap.aws.test_functions import PLACES

PACKAGE = ROOT / "layers" / "opencrab" / "python"
SNAPSTART = {
    "AWS_DEFAULT_REGION": "ap-northeast-1",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "made-up",
    "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
    "OPENCRAB_AWS__SETTINGS_FILE": "on",
    "OPENCRAB_AWS__OWNER_KEY_HASH": "0" * 64,
    "POWERTOOLS_SERVICE_NAME": "opencrab",
}
"""What Lambda says to a function with SnapStart: it has no credentials in its environment."""

BODY = """
import json, os, runpy, sys

def forbid(event, given):
    # The server of credentials belongs to the process; botocore asks it again before they expire.
    if event == "socket.connect" and given[1][1] != int(os.environ["SERVER"]):
        raise SystemExit(f"a connection before any event: {given}")

sys.addaudithook(forbid)
runpy.run_path(sys.argv[1])
import gc, random, secrets, ssl
import snapshot_restore_py
from opencrab.adapters.dynamodb.money.lease import BudgetLeases
from opencrab.adapters.system_clock import SystemClock

made = [each for each in gc.get_objects() if isinstance(each, BudgetLeases)]
clock = SystemClock()
state = random.getstate()
copies = []
for is_renewed in (False, False, True, True):
    read, write = os.pipe()
    if os.fork() == 0:
        random.setstate(state)  # a fork draws anew, a restored snapshot does not
        if is_renewed:
            for act, given, named in snapshot_restore_py.get_after_restore():
                act(*given, **named)
        told = {
            "random": random.random(),
            "id": clock.new_id(),
            "secret": clock.secret(),
            "holder": BudgetLeases(None)._holder,
        }
        os.write(write, json.dumps(told).encode())
        os._exit(0)
    os.close(write)
    copies.append(json.loads(os.read(read, 65536)))
print(json.dumps({"leases": len(made), "copies": copies}))
"""


def runtime_library() -> Path:
    """Where the part of Lambda's runtime is that registers hooks."""
    found = sorted((ROOT / ".venv-rie").glob("lib/python*/site-packages/snapshot_restore_py.py"))
    if not found:
        pytest.skip("no .venv-rie: `make test-deployed` installs it")
    return found[0]


@pytest.mark.parametrize("function", ["agent_turn", "rest_gateway"])
def test_copies_of_a_process_share_no_randomness_and_no_connection(
    function: str, tmp_path: Path
) -> None:
    library = runtime_library()
    (tmp_path / library.name).write_bytes(library.read_bytes())
    with listening(lambda _: answer(200, json.dumps(SERVED).encode())) as server:
        run = subprocess.run(
            [sys.executable, "-c", BODY, ROOT / "functions" / function / "handler.py"],
            env={
                **PLACES,
                **SNAPSTART,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{server.port}/v1",
                "SERVER": str(server.port),
                "PATH": os.defpath,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(PACKAGE)]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    first, second, third, fourth = told["copies"]
    assert told["leases"] == 0, "a lease before any event would be that of all copies"
    assert first["random"] == second["random"], "this test sees what copies share"
    assert len({each["random"] for each in (first, third, fourth)}) == 3
    for name in ("id", "secret", "holder"):
        assert len({each[name] for each in told["copies"]}) == 4, name
