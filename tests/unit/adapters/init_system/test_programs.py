"""Programs of an init system: run without a shell, and a missing one is an answer too."""

import sys
from pathlib import Path

import pytest

from opencrab.adapters.init_system.programs import NOT_FOUND, run_init_program
from opencrab.ports.installation.init_system import ProgramResult, RunProgram


def test_code_and_both_streams_are_returned() -> None:
    script = "import sys; print('$HOME'); sys.stdout.flush(); sys.exit('なし')"
    program = RunProgram((sys.executable, "-X", "utf8", "-c", script))
    assert run_init_program(program, shown=False) == ProgramResult(1, "$HOME\nなし")


def test_what_is_shown_is_not_returned(capfd: pytest.CaptureFixture[str]) -> None:
    program = RunProgram((sys.executable, "-c", "print('a line')"))
    assert run_init_program(program, shown=True) == ProgramResult(0)
    assert capfd.readouterr().out == "a line\n"


def test_a_program_that_is_not_here_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "systemctl")
    ended = run_init_program(RunProgram((missing,)), shown=False)
    assert (ended.code, ended.text) == (NOT_FOUND, f"{missing}: No such file or directory")
