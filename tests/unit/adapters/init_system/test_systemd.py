"""What systemd is told: a unit that it accepts whatever a folder is called, and commands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from opencrab.adapters.init_system.systemd import SystemdUser
from opencrab.ports.installation.init_system import (
    ProgramResult,
    RemoveFile,
    RunningState,
    RunProgram,
    WriteFile,
)
from tests.unit.adapters.init_system.player import ProgramPlayer

WORDS = ("opencrab", "up", "--data", 'my "data" 100% $HOME \\ メモ')


def systemd(tmp_path: Path, player: ProgramPlayer | None = None) -> SystemdUser:
    return SystemdUser(tmp_path / "config", tmp_path / "opencrab", player or ProgramPlayer())


def unit(tmp_path: Path, *words: str) -> str:
    file, *_ = systemd(tmp_path).install_steps(words)
    assert isinstance(file, WriteFile)
    return file.text


def test_the_unit_lies_with_the_users_own_and_starts_at_once(tmp_path: Path) -> None:
    file, *programs = systemd(tmp_path).install_steps(WORDS)
    assert isinstance(file, WriteFile)
    assert file.path == tmp_path / "config" / "systemd" / "user" / "opencrab.service"
    assert [" ".join(each.words) for each in programs if isinstance(each, RunProgram)] == [
        "systemctl --user daemon-reload",
        "systemctl --user enable opencrab.service",
        "systemctl --user restart opencrab.service",
    ]


def test_words_are_quoted_as_systemd_reads_them(tmp_path: Path) -> None:
    quoted = '"opencrab" "up" "--data" "my \\"data\\" 100%% $$HOME \\\\ メモ"'
    assert f"ExecStart={quoted}\n" in unit(tmp_path, *WORDS)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    file = tmp_path / "opencrab.service"
    file.write_text(unit(tmp_path, "/bin/true", *WORDS[1:]), encoding="utf-8")
    places = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": os.defpath}
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(file)],  # noqa: S607 - on the path
        env=places,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_it_stops_before_its_unit_goes(tmp_path: Path) -> None:
    stop, file, reload = systemd(tmp_path).uninstall_steps()
    assert stop == RunProgram(("systemctl", "--user", "disable", "--now", "opencrab.service"))
    assert file == RemoveFile(systemd(tmp_path).definition)
    assert reload == RunProgram(("systemctl", "--user", "daemon-reload"))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "ActiveState=active\nMainPID=41",
            RunningState(running=True, process_id=41, said="active"),
        ),
        (
            "MainPID=0\nActiveState=failed",
            RunningState(running=False, process_id=None, said="failed"),
        ),
        ("", RunningState(running=False, process_id=None, said="")),
    ],
)
def test_its_state_is_read(tmp_path: Path, told: str, expected: RunningState) -> None:
    player = ProgramPlayer({"systemctl --user show opencrab.service": ProgramResult(0, told)})
    assert systemd(tmp_path, player).state() == expected


def test_a_manager_that_does_not_answer_says_why(tmp_path: Path) -> None:
    silent = ProgramPlayer({"systemctl --user show-environment": ProgramResult(1, "no bus")})
    assert systemd(tmp_path, silent).problem() == "no bus"
    assert systemd(tmp_path).problem() == ""


def test_logs_are_the_journals(tmp_path: Path) -> None:
    words = systemd(tmp_path).log_program(20, follow=True).words
    assert words[:4] == ("journalctl", "--user", "--unit", "opencrab.service")
    assert words[-2:] == ("--lines=20", "--follow")
