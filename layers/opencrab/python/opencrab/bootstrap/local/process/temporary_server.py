"""OpenCrab on this computer for as long as one command needs it, in a process of its own.

It ends with the command, however that ends: it reads an input that closes with it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import IO

from opencrab.bootstrap.local.start_screen import local_start_screen_text
from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.language.sentences import CliLanguage
from opencrab.gateways.cli.terminal.options import UpOptions

_END_SECONDS = 10
_PATHS = ("data", "usual_data", "config")


@contextmanager
def run_temporary_server(options: UpOptions) -> Iterator[None]:
    """Run OpenCrab within the block; raises Unavailable, with what it said, if it cannot start.

    Ctrl-C in the terminal does not reach it: the command decides when it ends.
    """
    process = subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-P", "-m", __name__, _options_as_text(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    )
    try:
        assert process.stdout is not None  # noqa: S101 - as it was asked for
        _wait_until_ready(process.stdout, str(options.language))
        # What it says later is read, so that it can go on, and shown to nobody.
        Thread(target=process.stdout.read, daemon=True).start()
        yield
    finally:
        _end(process)


def serve_while_input_is_open() -> None:
    """Run OpenCrab as the argument says until standard input closes, or it is told to stop."""
    from opencrab.bootstrap.local.command import run_local_server

    options = _options_of_text(sys.argv[1])
    Thread(target=_stop_when_input_closes, daemon=True).start()
    raise SystemExit(run_local_server(options))


def _wait_until_ready(said: IO[str], language: str) -> None:
    ready, lines = local_start_screen_text("ready", language), list[str]()
    for line in said:
        if line.rstrip("\n") == ready:
            return
        lines.append(line.strip().removeprefix("opencrab: "))
    why, *cures = [each for each in lines if each] or ["OpenCrab did not start"]
    raise Unavailable(why, cure=" ".join(cures) or "opencrab up")


def _end(process: "subprocess.Popen[str]") -> None:
    with suppress(OSError):
        process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError, ValueError):
                pipe.close()


def _stop_when_input_closes() -> None:
    # Not through sys.stdin: its lock would be held while the process ends.
    while os.read(0, 1_024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _options_as_text(options: UpOptions) -> str:
    paths = {name: getattr(options, name) for name in _PATHS}
    absolute = {
        name: None if path is None else str(path.absolute()) for name, path in paths.items()
    }
    return json.dumps(vars(options) | absolute)


def _options_of_text(text: str) -> UpOptions:
    given = json.loads(text)
    paths = {name: None if given[name] is None else Path(given[name]) for name in _PATHS}
    language = CliLanguage(given["language"])
    return replace(UpOptions(), **{**given, **paths, "language": language})


if __name__ == "__main__":
    serve_while_input_is_open()
