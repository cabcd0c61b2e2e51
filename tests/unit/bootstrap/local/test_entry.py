"""The `opencrab` command before any command runs: how it is stopped."""

import subprocess
import sys
from pathlib import Path

import pytest

_INTERRUPTED = """
import sys

class CtrlC:
    def find_spec(self, name, path, target=None):
        if name == "opencrab.gateways.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, CtrlC())
from opencrab.bootstrap import main
main()
"""


def _ran(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_while_it_loads_prints_no_traceback() -> None:
    assert _ran("-c", _INTERRUPTED) == (130, "", "")


@pytest.mark.parametrize("closed", ["0", "1", "2", "1 2", "0 1 2"])
def test_a_closed_stream_changes_no_exit_code(tmp_path: Path, closed: str) -> None:
    program = f"""
import os, sys
for number in map(int, {closed!r}.split()):
    os.close(number)
start = "from opencrab.bootstrap import main; main()"
command = ["agents", "list", "--url", "http://127.0.0.1:1", "--data", sys.argv[1]]
os.execv(sys.executable, [sys.executable, "-c", start, *command])
"""
    status, out, told = _ran("-c", program, str(tmp_path))
    assert (status, out, "no answer" in told) == (3, "", "2" not in closed)
