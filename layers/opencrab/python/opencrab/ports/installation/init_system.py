"""The init system of a computer, which starts OpenCrab at login and again after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class WriteFile:
    """Write a file, with the folders above it."""

    path: Path
    text: str


@dataclass(frozen=True)
class RemoveFile:
    """Delete a file, if it is there."""

    path: Path


@dataclass(frozen=True)
class RunProgram:
    """Run a program; if it `may_fail`, a failure only means that there was nothing to do."""

    words: tuple[str, ...]
    may_fail: bool = False


InitStep = WriteFile | RemoveFile | RunProgram


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended: its exit code, and what it printed if that was not shown."""

    code: int
    text: str = ""


@dataclass(frozen=True)
class RunningState:
    """Whether the init system runs OpenCrab; `said` is its own word, such as `activating`."""

    running: bool
    process_id: int | None
    said: str


class InitSystem(Protocol):
    """Where OpenCrab's definition lies, and which steps start and stop it, for this user alone."""

    @property
    def name(self) -> str:
        """`systemd` or `launchd`."""

    @property
    def executable(self) -> Path:
        """The `opencrab` command that is running now."""

    @property
    def definition(self) -> Path:
        """The file that tells the init system what to run."""

    def install_steps(self, words: Sequence[str]) -> tuple[InitStep, ...]:
        """Return what makes a command start now and at each login, in place of an earlier one."""

    def uninstall_steps(self) -> tuple[InitStep, ...]:
        """Return what stops the command and removes its definition."""

    def log_program(self, lines: int, *, follow: bool) -> RunProgram:
        """Return the program that prints what the command printed."""

    def problem(self) -> str:
        """Return why the init system of this user cannot be used, or nothing if it can."""

    def state(self) -> RunningState:
        """Return whether the command runs."""

    def run(self, program: RunProgram, *, shown: bool = False) -> ProgramResult:
        """Run a program; if `shown`, what it prints goes to the terminal at once."""
