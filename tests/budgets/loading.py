"""What a program loads until it is ready: modules, and bytes of their source.

Each is looked at in an interpreter of its own, which sees neither the environment's path files
(`-S`: editable installs, coverage's hook), nor the user's settings, nor a module of the tests.
Counted are modules whose source is a file, ours and those of libraries apart. Python's own are
not: they differ between its versions, and so do native modules between platforms. Lines of ours
that only comment are not counted either, as nobody shall save on them.
"""

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT
from tests.running import free_port

PACKAGE = ROOT / "layers" / "opencrab" / "python"
LIBRARIES = Path(sysconfig.get_path("purelib"))

_COMMENT = re.compile(rb"^[ \t]*#.*\n", re.MULTILINE)
_PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
_QUEUE = "https://sqs.eu-central-1.amazonaws.com/123456789012/opencrab"
_QUEUES = ("turns", "deliveries", "interactions", "compactions", "beats", "nights")
_DEPLOYED = {
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "made-up",
    "AWS_SECRET_ACCESS_KEY": "made-up",
    "POWERTOOLS_SERVICE_NAME": "opencrab",
    "OPENCRAB_DISCORD_PUBLIC_KEY": _PUBLIC_KEY,
    "OPENCRAB_CHANNELS": "webhook",
    "OPENCRAB_AWS__STAGE": "dev",
    "OPENCRAB_AWS__TABLE": "opencrab",
    "OPENCRAB_AWS__BUCKET": "opencrab",
    "OPENCRAB_AWS__SECRETS": "ssm:/opencrab/dev/",
    **{f"OPENCRAB_AWS__{name.upper()}_QUEUE": f"{_QUEUE}-{name}.fifo" for name in _QUEUES},
    **{f"OPENCRAB_AWS__{name.upper()}_DEAD_QUEUE": f"{_QUEUE}-{name}-dead" for name in _QUEUES},
}

_HANDLER = """
import sys
sys.path[:0] = [{folder!r}]
import handler
report()
"""

_COMMAND = """
import sys
from opencrab.bootstrap import main
sys.argv = {arguments!r}
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
report()
"""

# Says `ready` last of all, from within its composition; then it has what it needs to serve.
_SERVER = """
import os, sys
from opencrab.bootstrap import main
class Said:
    encoding = "utf-8"
    def write(self, text):
        if text.endswith("ready\\n"):
            report()
            os._exit(0)
    def flush(self): pass
    def isatty(self): return False
sys.stdout = Said()
sys.argv = {arguments!r}
main()
"""

# Written to a file of its own, since a program may print.
_REPORTING = """
import json, sys
sys.path += {paths!r}
def report():
    found = {{}}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and path.endswith(".py"):
            found[path] = module.__name__
    with open({report!r}, "x") as file:
        json.dump(sorted(found), file)
"""


@dataclass(frozen=True)
class Program:
    """Something that starts: the code that starts it, and its environment."""

    code: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Loaded:
    """Source files that a program loaded, ours and those of libraries."""

    ours: tuple[Path, ...]
    libraries: tuple[Path, ...]

    def counts(self) -> dict[str, int]:
        """What is budgeted."""
        return {
            "our_modules": len(self.ours),
            "our_bytes": sum(map(_code_bytes, self.ours)),
            "library_modules": len(self.libraries),
            "library_bytes": sum(path.stat().st_size for path in self.libraries),
        }


def function(name: str) -> Program:
    """A Lambda function until it is ready for its first event."""
    return Program(_HANDLER.format(folder=str(ROOT / "functions" / name)), _DEPLOYED)


def command(*arguments: str) -> Program:
    """A command of the terminal that comes to its end."""
    return Program(_COMMAND.format(arguments=["opencrab", *arguments]), {})


def server() -> Program:
    """OpenCrab on this machine, until it says that it is ready."""
    options = ["--port", str(free_port()), "--data", "data", "--provider", "scripted"]
    return Program(_SERVER.format(arguments=["opencrab", "up", *options]), {})


PROGRAMS: Mapping[str, Program] = {
    "discord_door": function("discord_gateway"),
    "channel_door": function("channel_gateway"),
    "worker": function("agent_turn"),
    "rest": function("rest_gateway"),
    "authorizer": function("rest_authorizer"),
    "up": server(),
    "version": command("--version"),
    "help": command("--help"),
    "completion": command("__complete", "--", "agents", ""),
    "completion_of_names": command("__complete", "--", "--url", "http://127.0.0.1:9", "chat", ""),
}


def loaded(program: Program) -> Loaded:
    """Start a program in a fresh interpreter, and see what it loaded."""
    with tempfile.TemporaryDirectory(prefix="opencrab-budgets-") as folder:
        report = Path(folder) / "loaded.json"
        paths = [str(PACKAGE), str(LIBRARIES)]
        code = _REPORTING.format(paths=paths, report=str(report)) + program.code
        run = subprocess.run(
            [sys.executable, "-S", "-s", "-B", "-c", code],
            cwd=folder,
            env={"HOME": folder, "LANG": "C.UTF-8", **program.environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if not report.is_file():
            raise AssertionError(f"it did not become ready: {run.stdout}{run.stderr}")
        found = [Path(path) for path in json.loads(report.read_text(encoding="utf-8"))]
    return Loaded(_inside(found, PACKAGE), _inside(found, LIBRARIES))


def _inside(paths: list[Path], folder: Path) -> tuple[Path, ...]:
    return tuple(path for path in paths if path.is_relative_to(folder))


def _code_bytes(path: Path) -> int:
    """Bytes of a source without the lines that only comment."""
    return len(_COMMENT.sub(b"", path.read_bytes()))
