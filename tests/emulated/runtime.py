"""A built function under AWS's own runtime: its interface emulator and its Python client."""

import http.client
import json
import platform
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.deployed.emulator import free_port, group, rest

PYTHON = ROOT / ".venv-rie" / "bin" / "python"
RAPID = Path("lib") / "python*" / "site-packages" / "samcli" / "local" / "rapid"
LAYERS = ("OpencrabLayer", "DependenciesLayer")
START_SECONDS = 30

_PROCESSORS = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
_INVOKE = "/2015-03-31/functions/function/invocations"


@dataclass(frozen=True)
class Runtime:
    """A function that waits for events, one after the other."""

    port: int
    log: Path

    def invoke(self, event: Any) -> Any:
        """What the function answers; an error of the function fails the test."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", _INVOKE, json.dumps(event))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        told = f"{content.decode()}\n{self.log.read_text(errors='replace')[-3_000:]}"
        assert answer.status == 200, told
        assert answer.getheader("x-amz-function-error") is None, told
        result = json.loads(content)
        assert not (isinstance(result, dict) and "errorType" in result), told
        return result


def why_not() -> str:
    """Why no function can run here; empty when one can."""
    if not PYTHON.is_file():
        return "there is no .venv-rie: `make test-deployed` installs it"
    return "" if emulator().is_file() else "aws-sam-cli brings no runtime for this processor"


def emulator() -> Path:
    """The runtime interface emulator for this processor; aws-sam-cli carries it."""
    name = f"aws-lambda-rie-{_PROCESSORS.get(platform.machine(), 'unknown')}"
    found = sorted((ROOT / ".venv-sam").glob(str(RAPID / name)))
    return found[0] if found else ROOT / ".venv-sam" / name


def environment(built: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """What a function in `folder` finds in its environment, with the layers beside it."""
    layers = [str(built / layer / "python") for layer in LAYERS]
    return {
        **variables,
        "LAMBDA_TASK_ROOT": str(folder),
        "PYTHONPATH": ":".join([str(folder), *layers]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_LAMBDA_FUNCTION_NAME": folder.name,
    }


@contextmanager
def running(scratch: Path, settings: Mapping[str, str], seconds: int = 300) -> Iterator[Runtime]:
    """A function with this environment, from its start to its end."""
    port, log = free_port(), scratch / f"rie-{time.monotonic_ns()}.log"
    addresses = {
        # Without these it would listen on every address.
        "--runtime-interface-emulator-address": f"127.0.0.1:{port}",
        "--runtime-api-address": f"127.0.0.1:{free_port()}",
    }
    command = [str(emulator()), *(part for pair in addresses.items() for part in pair)]
    command += [str(PYTHON), "-m", "awslambdaric", "handler.handler"]
    limited = {**settings, "AWS_LAMBDA_FUNCTION_TIMEOUT": str(seconds)}
    (scratch / "tmp").mkdir(exist_ok=True)
    with log.open("wb") as written, group(command, limited, scratch, written):
        _wait_until_it_listens(port, log)
        yield Runtime(port, log)


def _wait_until_it_listens(port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            rest(0.02)
        else:
            return
    raise RuntimeError(f"the runtime does not listen: {log.read_text()[-2_000:]}")
