"""A running `opencrab up` and the real command beside it, each as its user starts it."""

import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol

from tests.integration.cli.forked import Forked, fork_at_terminal, fork_beside, run_forked

OPENCRAB = Path(sys.executable).parent / "opencrab"
SECONDS = 60
_STILL = 5
CTRL_C, CTRL_D = b"\x03", b"\x04"

_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

Process = Forked | subprocess.Popen[str] | subprocess.Popen[bytes]


@dataclass(frozen=True)
class Said:
    """What a command left."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class House:
    """A data folder, and the environment of whoever uses it; no owner key is set in it."""

    folder: Path
    process: Forked | subprocess.Popen[str] | None = None
    printed: list[str] = field(default_factory=list)

    @property
    def data(self) -> Path:
        """Where everything is kept."""
        return self.folder / "data"

    @property
    def environment(self) -> dict[str, str]:
        """Only what a shell would set anyway."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "200",
        }

    def run(self, *args: str, typed: str = "", **more: str) -> Said:
        """The command with these arguments; it finds the server by the data folder alone."""
        environment = {**self.environment, "OPENCRAB_DATA": str(self.data), **more}
        code, out, err = run_forked(
            OPENCRAB,
            args,
            typed=typed,
            environment=environment,
            folder=self.folder,
            timeout=SECONDS,
        )
        return _said(code, out, err)

    def run_anew(self, *args: str, typed: str = "", **more: str) -> Said:
        """The same in a process that starts from nothing, as from a shell."""
        ended = subprocess.run(
            [str(OPENCRAB), *args],
            input=typed.encode(),
            capture_output=True,
            env={**self.environment, "OPENCRAB_DATA": str(self.data), **more},
            cwd=self.folder,
            timeout=SECONDS,
            check=False,
        )
        return _said(ended.returncode, ended.stdout, ended.stderr)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the server to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


def _said(code: int, out: bytes, err: bytes) -> Said:
    said = Said(code, out.decode(), err.decode())
    assert "Traceback" not in said.out + said.err, said.err
    return said


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    folder: Path,
    *,
    provider: str | None = "scripted",
    more: Mapping[str, str] | None = None,
    anew: bool = False,
) -> Iterator[House]:
    """`opencrab up` on a new port; ready on entry, ended on exit.

    It is forked, or `anew` starts from nothing, as from a shell.
    """
    house = House(folder)
    args = ["up", "--port", str(free_port()), "--data", str(house.data)]
    args += [] if provider is None else ["--provider", provider]
    environment = {**house.environment, **(more or {})}
    process = _started(args, environment) if anew else _forked(args, environment)
    try:
        assert process.stdout is not None
        printed: list[str] = []
        for row in process.stdout:
            printed.append(row.rstrip("\n"))
            if row == "ready\n":
                break
        assert printed[-1:] == ["ready"], printed
        yield House(folder, process, printed)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _started(args: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(OPENCRAB), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def _forked(args: list[str], environment: Mapping[str, str]) -> Forked:
    return fork_beside(OPENCRAB, args, environment=environment, folder=Path.cwd(), with_errors=True)


class Program(Protocol):
    """A running program, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Seat:
    """A person at a terminal: reads the screen until something is there, and types."""

    def __init__(self, process: Program, screen: int) -> None:
        self._process = process
        self._screen = screen
        self._seen = b""
        self.is_closed = False

    def type(self, text: str | bytes) -> None:
        """Press these keys; a line needs its own end."""
        os.write(self._screen, text.encode() if isinstance(text, str) else text)

    def see(self, text: str) -> str:
        """Wait until this is on the screen; everything up to it, which is then forgotten."""
        wanted, deadline = text.encode(), monotonic() + SECONDS
        while wanted not in self._seen:
            assert monotonic() < deadline, self._seen.decode(errors="replace")
            assert self._read(), self._seen.decode(errors="replace")
        before, _, self._seen = self._seen.partition(wanted)
        return before.decode(errors="replace")

    def settle(self) -> None:
        """Wait until the program does nothing but wait for a key.

        Python's line editing misses a Ctrl-C between its prompt and its wait for the first key.
        """
        deadline, still = monotonic() + SECONDS, 0
        while still < _STILL and monotonic() < deadline:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            still = still + 1 if state[0] == "S" else 0
            select.select([self._screen], [], [], 0.02)

    def rest(self) -> str:
        """Wait until the program has ended; everything that it still wrote."""
        deadline = monotonic() + SECONDS
        while monotonic() < deadline and self._read():
            pass
        return self._seen.decode(errors="replace")

    def leave(self) -> int:
        """Wait until the program has ended; its exit code."""
        self.rest()
        return self._process.wait(SECONDS)

    def hang_up(self) -> int:
        """Close the terminal's window; the program's exit code."""
        self.is_closed = True
        os.close(self._screen)
        return self._process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], 0.5)
        if not ready:
            return self._process.poll() is None
        try:
            chunk = os.read(self._screen, 65_536)
        except OSError:  # what Linux says when the other side is closed
            return False
        self._seen += chunk
        return bool(chunk)


@contextmanager
def seat(
    house: House, *args: str, program: Path = OPENCRAB, more: Mapping[str, str] | None = None
) -> Iterator[Seat]:
    """The command, or another program, in a terminal of its own, in which Ctrl-C is a signal."""
    screen, side = pty.openpty()
    environment = {**house.environment, "OPENCRAB_DATA": str(house.data), **(more or {})}
    process: Process
    if program == OPENCRAB:
        process = fork_at_terminal(
            program, args, terminal=side, environment=environment, folder=house.folder
        )
    else:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", _TAKE_TERMINAL, str(program), *args],
            stdin=side,
            stdout=side,
            stderr=side,
            env=environment,
            cwd=house.folder,
            start_new_session=True,
        )
    os.close(side)
    person = Seat(process, screen)
    try:
        yield person
    finally:
        process.kill()
        process.wait()
        if not person.is_closed:
            os.close(screen)
