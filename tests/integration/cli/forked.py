"""The real command in a process of its own, forked from one that has loaded the program already.

To load it takes half a second of CPU, and most commands take a tenth of that. Arguments, streams,
environment, folder and exit code are those of any process; what only a start from nothing shows is
for `House.run_anew`.
"""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from opencrab.bootstrap import main

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

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(list(LOADED))


def run_forked(
    program: Path,
    args: Sequence[str],
    *,
    typed: str,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    start: Callable[[], object] = main,
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
    start: Callable[[], object] = main,
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


def _become(
    program: str,
    args: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    paths: Sequence[Path],
    *,
    start: Callable[[], object],
) -> None:
    """Turn this process into the command."""
    # Who could write to its own standard input would never see the end of a pipe.
    streams = [
        os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        for number, path in enumerate(paths)
    ]
    take_streams(streams, environment, folder)
    sys.argv = [program, *args]
    start()


def take_streams(streams: Sequence[int], environment: Mapping[str, str], folder: Path) -> None:
    """Give this process other streams, another environment and another folder."""
    os.environ.clear()  # noqa: TID251 - as a new process would find it
    os.environ.update(environment)  # noqa: TID251
    os.chdir(folder)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in {*streams} - {0, 1, 2}:
        os.close(descriptor)
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")
