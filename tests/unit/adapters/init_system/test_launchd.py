"""What launchd is told: a property list with every word as it is, and commands."""

import plistlib
from pathlib import Path

import pytest

from opencrab.adapters.init_system.launchd import LaunchdUser
from opencrab.ports.installation.init_system import ProgramResult, RemoveFile, RunProgram, WriteFile
from tests.unit.adapters.init_system.player import ProgramPlayer

WORDS = ("opencrab", "up", "--data", "my <data> & メモ")
BOOTOUT = RunProgram(("launchctl", "bootout", "gui/501/opencrab"), may_fail=True)


def launchd(home: Path, player: ProgramPlayer | None = None) -> LaunchdUser:
    return LaunchdUser(home, 501, home / "opencrab", player or ProgramPlayer())


def test_the_list_names_the_command_and_lies_with_the_users_own(tmp_path: Path) -> None:
    file, first, then = launchd(tmp_path).install_steps(WORDS)
    assert isinstance(file, WriteFile)
    assert file.path == tmp_path / "Library" / "LaunchAgents" / "opencrab.plist"
    told = plistlib.loads(file.text.encode())
    assert told["ProgramArguments"] == list(WORDS)
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert told["Umask"] == 0o077
    assert "opencrab service install" in file.text
    assert first == BOOTOUT
    assert then == RunProgram(("launchctl", "bootstrap", "gui/501", str(file.path)))


def test_it_stops_before_its_list_goes(tmp_path: Path) -> None:
    system = launchd(tmp_path)
    assert system.uninstall_steps() == (BOOTOUT, RemoveFile(system.definition))


@pytest.mark.parametrize(
    ("result", "process"),
    [
        (ProgramResult(0, "opencrab = {\n\tstate = running\n\tpid = 73\n}"), 73),
        (ProgramResult(0, "opencrab = {\n\tstate = not running\n}"), None),
        (ProgramResult(113, "Could not find service: state = running"), None),
    ],
)
def test_its_state_is_read(tmp_path: Path, result: ProgramResult, process: int | None) -> None:
    player = ProgramPlayer({"launchctl print gui/501/opencrab": result})
    state = launchd(tmp_path, player).state()
    assert (state.running, state.process_id) == (process is not None, process)


def test_a_domain_that_is_not_there_says_why(tmp_path: Path) -> None:
    silent = ProgramPlayer({"launchctl print gui/501": ProgramResult(125, "no such domain")})
    assert launchd(tmp_path, silent).problem() == "no such domain"
    assert launchd(tmp_path).problem() == ""


def test_logs_are_those_that_the_list_names(tmp_path: Path) -> None:
    file, *_ = launchd(tmp_path).install_steps(WORDS)
    assert isinstance(file, WriteFile)
    log = plistlib.loads(file.text.encode())["StandardOutPath"]
    assert launchd(tmp_path).log_program(9, follow=False).words == ("tail", "-n", "9", log)
