"""The real command in a process of its own, forked from one that has loaded the program already.

To load it takes half a second of CPU, and most commands take a tenth of that. Arguments, streams,
environment, folder and exit code are those of any process; what only a start from nothing shows is
for `House.run_anew`.
"""

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

from opencrab.bootstrap import main

SERVING = (
    "fastapi",
    "fastapi.applications",
    "opencrab.bootstrap.actions",
    "opencrab.bootstrap.consequences",
    "opencrab.bootstrap.data_upgrade",
    "opencrab.bootstrap.discord.channel",
    "opencrab.bootstrap.jobs",
    "opencrab.bootstrap.llm",
    "opencrab.bootstrap.local.doctor",
    "opencrab.bootstrap.local.model_watch",
    "opencrab.bootstrap.local.parts",
    "opencrab.bootstrap.local.search",
    "opencrab.bootstrap.local.sign_in",
    "opencrab.bootstrap.local.start_screen",
    "opencrab.bootstrap.web",
    "opencrab.bootstrap.websocket",
    "opencrab.bootstrap.world",
    "opencrab.gateways.rest.app",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.server",
)
"""What `opencrab up` loads beside it."""

LOADED = (
    "opencrab.bootstrap.local.entry",
    "opencrab.bootstrap.local.command",
    "opencrab.gateways.cli.app",
    "opencrab.adapters.system_clock",
    "opencrab.bootstrap.discord.relay",
    "opencrab.bootstrap.local.simulation",
    "opencrab.gateways.cli.connection.address",
    "opencrab.gateways.cli.connection.client",
    "opencrab.gateways.cli.conversation.script_chat",
    "opencrab.gateways.cli.goals.task_follow",
    "opencrab.gateways.cli.terminal.exchange",
    "opencrab.gateways.cli.terminal.tables",
    "botocore.client",
    "botocore.session",
    "certifi",
    "csv",
    "encodings.idna",
    "httpcore",
    "httpx",
    "importlib.metadata",
    "importlib.resources.readers",
    "infra.deploy",
    "pydantic.fields",
    "pydantic.main",
    "pydantic.type_adapter",
    "pydantic.types",
    "rich.console",
    "typer._adapters",
)
"""What a command loads sooner or later. None of it looks at the environment."""

Start = Callable[[], object]
"""What a process does that has become a command."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([*LOADED, *SERVING])


def run_forked(
    program: Path,
    args: Sequence[str],
    *,
    typed: str,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    start: Start = main,
) -> tuple[int, bytes, bytes]:
    """Run the command to its end: its exit code and what it wrote."""
    with tempfile.TemporaryDirectory() as streams:
        paths = [Path(streams) / name for name in ("in", "out", "err")]
        paths[0].write_bytes(typed.encode())
        code = run_on(
            paths,
            program,
            args,
            environment=environment,
            folder=folder,
            timeout=timeout,
            start=start,
        )
        return code, paths[1].read_bytes(), paths[2].read_bytes()


def run_on(
    streams: Sequence[Path],
    program: Path,
    args: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    start: Start = main,
) -> int:
    """Run the command on its three streams to its end: its exit code."""
    process = FORKS.Process(
        target=partial(_become, start=start),
        args=(str(program), args, dict(environment), folder, streams),
    )
    process.start()
    process.join(timeout)
    try:
        assert process.exitcode is not None, f"{args} took more than {timeout} s"
        return process.exitcode
    finally:
        process.kill()
        process.join()
        process.close()


class Forked:
    """A forked command that runs beside the test, with what tests use of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess, stdout: IO[str] | None = None) -> None:
        self._process = process
        self.stdout = stdout

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end: the exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class _Descriptor:
    """A file descriptor, which another process gets as one of its own."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self._number),)


def _received(sent: Any) -> int:
    number: int = sent.detach()
    return number


def fork_at_terminal(
    program: Path,
    args: Sequence[str],
    *,
    terminal: int,
    environment: Mapping[str, str],
    folder: Path,
) -> Forked:
    """Start the command with a terminal of its own, in which Ctrl-C is a signal."""
    begin = partial(_become, start=main, at_terminal=True)
    streams = [_Descriptor(terminal) for _ in range(3)]
    return Forked(_forked(begin, str(program), args, dict(environment), folder, streams))


def fork_beside(
    program: Path,
    args: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    start: Start = main,
    with_errors: bool = False,
) -> Forked:
    """Start the command; what it writes can be read, with what it writes of errors or without."""
    read, write = os.pipe()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device
        errors = write if with_errors else 2
        streams = [_Descriptor(each) for each in (nothing.fileno(), write, errors)]
        begin = partial(_become, start=start)
        process = _forked(begin, str(program), args, dict(environment), folder, streams)
    os.close(write)
    return Forked(process, os.fdopen(read, encoding="utf-8"))


def _forked(begin: Callable[..., None], *arguments: object) -> BaseProcess:
    process = FORKS.Process(target=begin, args=arguments)
    process.start()
    return process


def _become(
    program: str,
    args: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    streams: Sequence[Path | int],
    *,
    start: Start,
    at_terminal: bool = False,
) -> None:
    """Turn this process into the command."""
    take_streams(streams, environment, folder, at_terminal=at_terminal)
    sys.argv = [program, *args]
    start()


def take_streams(
    streams: Sequence[Path | int],
    environment: Mapping[str, str],
    folder: Path,
    *,
    at_terminal: bool = False,
) -> None:
    """Give this process other streams, another environment and another folder."""
    os.environ.clear()  # noqa: TID251 - as a new process would find it
    os.environ.update(environment)  # noqa: TID251
    os.chdir(folder)
    for number, stream in enumerate(streams):
        if isinstance(stream, int):
            os.dup2(stream, number)
            continue
        # Who could write to its own standard input would never see the end of a pipe.
        descriptor = os.open(stream, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    for descriptor in {each for each in streams if isinstance(each, int)} - {0, 1, 2}:
        os.close(descriptor)
    if at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")
