"""The `opencrab` command before any command runs: how it is stopped."""

import subprocess
import sys

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
