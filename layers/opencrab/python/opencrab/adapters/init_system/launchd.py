"""launchd: an agent in the user's Library, which runs while the user is logged in."""

import plistlib
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

LABEL = "opencrab"
_WRITTEN_BY = (
    "<!-- Written by `opencrab service install`; `opencrab service uninstall` removes it. -->"
)


@dataclass(frozen=True)
class LaunchdUser:
    """The launchd of a user with this number and home folder."""

    home: Path
    user_id: int
    executable: Path
    runs: RunInitProgram = run_init_program
    name: str = "launchd"

    @property
    def definition(self) -> Path:
        return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def install_steps(self, words: Sequence[str]) -> tuple[InitStep, ...]:
        log = str(self._log)
        content = {
            "Label": LABEL,
            "ProgramArguments": list(words),
            "WorkingDirectory": str(self.home),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "StandardOutPath": log,
            "StandardErrorPath": log,
            "Umask": 0o077,
        }
        head, mark, rest = plistlib.dumps(content).decode().partition("<plist ")
        return (
            WriteFile(self.definition, f"{head}{_WRITTEN_BY}\n{mark}{rest}"),
            self._bootout(),
            _launchctl("bootstrap", self._domain, str(self.definition)),
        )

    def uninstall_steps(self) -> tuple[InitStep, ...]:
        return (self._bootout(), RemoveFile(self.definition))

    def log_program(self, lines: int, *, follow: bool) -> RunProgram:
        more = ("-F",) if follow else ()
        return RunProgram(("tail", "-n", str(lines), *more, str(self._log)))

    def problem(self) -> str:
        asked = self.run(_launchctl("print", self._domain))
        return "" if asked.code == 0 else asked.text or f"exit code {asked.code}"

    def state(self) -> RunningState:
        told = self.run(_launchctl("print", f"{self._domain}/{LABEL}"))
        facts = dict[str, str]()
        for line in told.text.splitlines() if told.code == 0 else ():
            name, mark, value = line.strip().partition(" = ")
            if mark:
                facts.setdefault(name, value)
        number = facts.get("pid", "")
        said = facts.get("state", "")
        return RunningState(said == "running", int(number) if number.isdecimal() else None, said)

    def run(self, program: RunProgram, *, shown: bool = False) -> ProgramResult:
        return self.runs(program, shown)

    @property
    def _domain(self) -> str:
        return f"gui/{self.user_id}"

    @property
    def _log(self) -> Path:
        return self.home / "Library" / "Logs" / "opencrab.log"

    def _bootout(self) -> RunProgram:
        return RunProgram(("launchctl", "bootout", f"{self._domain}/{LABEL}"), may_fail=True)


def _launchctl(*words: str) -> RunProgram:
    return RunProgram(("launchctl", *words))
