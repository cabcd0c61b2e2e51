"""systemd: a unit of the user's own manager, which needs no root."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opencrab.adapters.init_system.programs import RunInitProgram, run_init_program
from opencrab.ports.installation.init_system import (
    InitStep,
    ProgramResult,
    RemoveFile,
    RunningState,
    RunProgram,
    WriteFile,
)

UNIT = "opencrab.service"
_TEXT = """\
# Written by `opencrab service install`; `opencrab service uninstall` removes it.
[Unit]
Description=OpenCrab
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
WorkingDirectory=%h
# Exit code 2 is a setting that cannot be: trying again would not help.
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2
UMask=0077

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True)
class SystemdUser:
    """The systemd manager of a user; `config` is their folder of settings, such as ~/.config."""

    config: Path
    executable: Path
    runs: RunInitProgram = run_init_program
    name: str = "systemd"

    @property
    def definition(self) -> Path:
        return self.config / "systemd" / "user" / UNIT

    def install_steps(self, words: Sequence[str]) -> tuple[InitStep, ...]:
        text = _TEXT.format(command=" ".join(map(_quote, words)))
        return (
            WriteFile(self.definition, text),
            _manager("daemon-reload"),
            _manager("enable", UNIT),
            _manager("restart", UNIT),
        )

    def uninstall_steps(self) -> tuple[InitStep, ...]:
        return (
            _manager("disable", "--now", UNIT),
            RemoveFile(self.definition),
            _manager("daemon-reload"),
        )

    def log_program(self, lines: int, *, follow: bool) -> RunProgram:
        more = ("--follow",) if follow else ()
        words = ("journalctl", "--user", "--unit", UNIT, "--no-pager", f"--lines={lines}")
        return RunProgram((*words, *more))

    def problem(self) -> str:
        asked = self.run(_manager("show-environment"))
        return "" if asked.code == 0 else asked.text or f"exit code {asked.code}"

    def state(self) -> RunningState:
        told = self.run(_manager("show", UNIT, "--property=ActiveState,MainPID"))
        facts = dict(line.partition("=")[::2] for line in told.text.splitlines())
        number = facts.get("MainPID", "0")
        active = facts.get("ActiveState", "")
        process = int(number) if number.isdecimal() and int(number) else None
        return RunningState(active == "active", process, active)

    def run(self, program: RunProgram, *, shown: bool = False) -> ProgramResult:
        return self.runs(program, shown)


def _manager(*words: str) -> RunProgram:
    return RunProgram(("systemctl", "--user", *words))


def _quote(word: str) -> str:
    """Quote a word for ExecStart, in which `%` and `$` have a meaning too."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
