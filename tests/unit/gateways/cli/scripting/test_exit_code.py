"""One table of exit codes: what a script is told about errors, turns, tasks and output."""

import errno

import pytest

from opencrab.domain import errors
from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.scripting.exit_code import (
    ExitCode,
    exit_code_of_error,
    exit_code_of_output,
    exit_code_of_task,
    exit_code_of_turn,
)
from tests.cases import for_each


@for_each(
    ("error", "code"),
    [
        (errors.Invalid, 2),
        (errors.TooLarge, 2),
        (errors.Unavailable, 3),
        (errors.NeverSent, 3),
        (errors.Refused, 4),
        (errors.NoRoom, 4),
        (errors.Unauthenticated, 4),
        (errors.NotFound, 5),
        (errors.Conflict, 6),
        (errors.Changed, 6),
        (errors.Exhausted, 8),
        (OpenCrabError, 1),
    ],
)
def test_an_error_has_the_code_of_its_nearest_kind(error: type[OpenCrabError], code: int) -> None:
    assert exit_code_of_error(error("?")) == code


@for_each(
    ("kind", "code"),
    [
        ("frozen", 7),
        ("exhausted", 8),
        ("waiting", 9),
        ("stopped", 10),
        ("failed", 1),
        ("unanswered", 1),
        ("a type of a later version", 1),
    ],
)
def test_a_turn_without_an_answer_is_no_success(kind: str, code: int) -> None:
    assert exit_code_of_turn({"type": kind}) == code


def test_a_turn_without_an_error_is_a_success() -> None:
    assert exit_code_of_turn(None) == ExitCode.OK


@for_each(
    ("status", "code"),
    [("completed", 0), ("waiting", 9), ("paused", 10), ("abandoned", 10), ("blocked", 1)],
)
def test_only_a_completed_task_is_a_success(status: str, code: int) -> None:
    assert exit_code_of_task(status) == code


@for_each(
    ("number", "code"),
    [(errno.EPIPE, 141), (errno.EIO, 129), (errno.ENOSPC, 1), (errno.EDQUOT, 1), (errno.EFBIG, 1)],
)
def test_output_that_cannot_be_written_has_a_code(number: int, code: int) -> None:
    assert exit_code_of_output(OSError(number, "?")) == code


@pytest.mark.parametrize("error", [OSError("no number"), OSError(errno.EACCES, "?")])
def test_another_error_of_the_system_is_not_one_of_output(error: OSError) -> None:
    assert exit_code_of_output(error) is None
