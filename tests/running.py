"""A running `opencrab up`, started as its user starts it, and what one can ask it."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from opencrab.bootstrap import main
from opencrab.domain.turn.turn import TurnStatus
from tests.integration.cli.forked import Forked, fork_beside, run_forked
from tests.integration.local.shifted import run_ahead

OPENCRAB = Path(sys.executable).parent / "opencrab"
KEY = "bench-owner-key-0123456789"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Server:
    """A running `opencrab up`."""

    process: Forked | subprocess.Popen[str]
    port: int
    started: float

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        wait: float | None = None,
        key: str | None = None,
    ) -> Any:
        """One request on a new connection, and its JSON answer; `key` makes it idempotent."""
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        if wait is not None:
            headers["prefer"] = f"wait={wait:g}"
        if key is not None:
            headers["idempotency-key"] = key
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 + (wait or 0))
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, f"/api{path}", payload, headers)
            answer = connection.getresponse()
            content = json.loads(answer.read())
        finally:
            connection.close()
        assert answer.status < 300, content
        return content

    def session(self, name: str) -> str:
        """A new agent in a new session; the session's id."""
        agent = self.call("POST", "/agents", {"name": name, "language": "ja"})
        session = self.call("POST", "/sessions", {"participants": [agent["id"]]})
        return str(session["id"])

    def say(self, session_id: str, text: str, wait: float = 25) -> Any:
        """A message and its replies."""
        return self.call("POST", f"/sessions/{session_id}/messages", {"text": text}, wait)

    def only_turn(self, session_id: str, seconds: float = 120) -> Any:
        """The session's only turn with its steps, once it has ended."""
        (turn,) = self.call("GET", f"/turns?session_id={session_id}")["items"]
        until = time.monotonic() + seconds
        while True:
            found = self.call("GET", f"/turns/{turn['id']}")
            if TurnStatus(found["status"]).is_end:
                return found
            assert time.monotonic() < until, found
            time.sleep(0.05)

    def cpu_ms(self) -> float:
        """CPU that the process has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000 / _TICKS

    def resident_mb(self) -> float:
        """Resident memory now."""
        for row in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if row.startswith("VmRSS"):
                return int(row.split()[1]) / 1_024
        raise AssertionError("no VmRSS")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server(
    data: Path,
    *,
    model_url: str | None = None,
    script: Path | None = None,
    opencrab: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
    folder: Path | None = None,
    ahead_seconds: float = 0,
    anew: bool = False,
) -> Iterator[Server]:
    """`opencrab up` on a data directory, ready; with a stub model, or the scripted one.

    With `more` settings in the environment it chooses its model by them. It is forked, its clock
    `ahead_seconds` ahead of the machine's, or `anew` starts from nothing, as from a shell; so does
    another command, `opencrab`. It runs in `folder`.
    """
    port = free_port()
    # Whoever tests may have settings of their own.
    own = {"XDG_CONFIG_HOME": str(data.parent / "config"), "OPENCRAB_OWNER_KEY": KEY}
    environment = {**os.environ, **own, **(more or {})}
    if script is not None:
        environment["OPENCRAB_LLM__PROVIDERS__SCRIPTED__SCRIPT"] = str(script)
    args = ["up", "--port", str(port), "--data", str(data)]
    if model_url is not None:
        environment["OPENCRAB_LLM__PROVIDERS__LLAMACPP__BASE_URL"] = model_url
        args += ["--provider", "llamacpp:stub"]
    elif more is None:
        args += ["--provider", "scripted"]
    started = time.perf_counter()
    process = (
        _started([*(opencrab or (str(OPENCRAB),)), *args], environment, folder)
        if opencrab or anew
        else _forked(args, environment, folder, ahead_seconds)
    )
    try:
        assert process.stdout is not None
        for row in process.stdout:
            if row.strip() == "ready":
                break
        yield Server(process, port, started)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def _started(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None
) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)


def _forked(
    args: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None,
    ahead_seconds: float,
) -> Forked:
    return fork_beside(
        OPENCRAB,
        args,
        environment=environment,
        folder=folder or Path.cwd(),
        start=partial(run_ahead, ahead_seconds) if ahead_seconds else main,
    )


def opencrab(*args: object, code: int = 0) -> str:
    """What the command says, which ends with this code."""
    ended, out, err = run_forked(
        OPENCRAB,
        [*map(str, args)],
        typed="",
        environment=os.environ,
        folder=Path.cwd(),
        timeout=600,
    )
    said = (out + err).decode()
    assert ended == code, said
    return said
