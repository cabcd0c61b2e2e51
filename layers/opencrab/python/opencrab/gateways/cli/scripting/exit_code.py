"""Exit codes: one table for all commands, so that a script knows what to do next."""

import errno
from enum import IntEnum
from typing import Any

from opencrab.domain import errors
from opencrab.domain.errors import OpenCrabError


class ExitCode(IntEnum):
    """The exit codes of all commands; those above 128 are 128 and the number of a signal."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    REFUSED = 4
    NOT_FOUND = 5
    CONFLICT = 6
    FROZEN = 7
    EXHAUSTED = 8
    WAITING = 9
    STOPPED = 10
    TERMINAL_CLOSED = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


_OF_ERRORS: dict[type[Exception], ExitCode] = {
    errors.Invalid: ExitCode.USAGE,
    errors.Unavailable: ExitCode.UNAVAILABLE,
    errors.Refused: ExitCode.REFUSED,
    errors.Unauthenticated: ExitCode.REFUSED,
    errors.NotFound: ExitCode.NOT_FOUND,
    errors.Conflict: ExitCode.CONFLICT,
    errors.Exhausted: ExitCode.EXHAUSTED,
}
WAITING = "waiting"
"""The type of the error of a turn that waits for approval, which is no error to the server."""

_OF_TURNS = {
    "frozen": ExitCode.FROZEN,
    "exhausted": ExitCode.EXHAUSTED,
    "stopped": ExitCode.STOPPED,
    WAITING: ExitCode.WAITING,
}


def exit_code_of_error(error: OpenCrabError) -> ExitCode:
    """Return the exit code of a command that ended with an error."""
    found = (_OF_ERRORS[kind] for kind in type(error).__mro__ if kind in _OF_ERRORS)
    return next(found, ExitCode.FAILED)


def exit_code_of_turn(error: dict[str, Any] | None) -> ExitCode:
    """Return the exit code of a command that waited for a turn, by the type of its error."""
    if error is None:
        return ExitCode.OK
    return _OF_TURNS.get(error["type"], ExitCode.FAILED)


def exit_code_of_output(error: OSError) -> ExitCode | None:
    """Return the exit code when output cannot be written; None for an error of something else.

    The reader of a pipe has gone, as `head` does, or the terminal was closed, or a disk is full.
    """
    return _OF_OUTPUT.get(error.errno or 0)


_OF_OUTPUT = {
    errno.EPIPE: ExitCode.BROKEN_PIPE,
    errno.EIO: ExitCode.TERMINAL_CLOSED,
    errno.ENOSPC: ExitCode.FAILED,
    errno.EDQUOT: ExitCode.FAILED,
    errno.EFBIG: ExitCode.FAILED,
}


def exit_code_of_task(status: str) -> ExitCode:
    """Return the exit code of a command that followed a task, by the task's status."""
    return _OF_TASKS.get(status, ExitCode.FAILED)


_OF_TASKS = {
    "completed": ExitCode.OK,
    "waiting": ExitCode.WAITING,
    "paused": ExitCode.STOPPED,
    "abandoned": ExitCode.STOPPED,
}
