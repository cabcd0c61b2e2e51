"""Programs of an init system, run without a shell; one that is missing ends with code 127."""

import subprocess
from collections.abc import Callable

from opencrab.ports.installation.init_system import ProgramResult, RunProgram

NOT_FOUND = 127
_SECONDS = 90.0
"""The longest that systemd waits for a service to stop, by its own default."""

RunInitProgram = Callable[[RunProgram, bool], ProgramResult]
"""Runs a program; the second argument is whether what it prints is shown at once."""


def run_init_program(program: RunProgram, shown: bool) -> ProgramResult:  # noqa: FBT001 - see above
    """Run a program and return its code with what it printed on both streams."""
    try:
        if shown:
            ended = subprocess.run(program.words, check=False)  # noqa: S603 - words of an adapter
            return ProgramResult(ended.returncode)
        done = subprocess.run(  # noqa: S603 - words of an adapter
            program.words,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return ProgramResult(1, f"no answer in {_SECONDS:g} s")
    except OSError as error:
        return ProgramResult(NOT_FOUND, f"{program.words[0]}: {error.strerror}")
    return ProgramResult(done.returncode, done.stdout.strip())
