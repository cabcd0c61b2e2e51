"""`opencrab service`: what it writes and runs, what it refuses, in both languages."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from opencrab.adapters.init_system.systemd import SystemdUser
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.ports.installation.init_system import ProgramResult
from tests.unit.adapters.init_system.player import ProgramPlayer

SHOW = "systemctl --user show opencrab.service"


@pytest.fixture
def player() -> ProgramPlayer:
    """A systemd that does everything at once."""
    return ProgramPlayer({SHOW: ProgramResult(0, "ActiveState=active\nMainPID=41")})


@pytest.fixture
def system(tmp_path: Path, player: ProgramPlayer) -> SystemdUser:
    """The systemd of a user who has installed the command."""
    executable = tmp_path / "bin" / "opencrab"
    executable.parent.mkdir()
    executable.touch()
    return SystemdUser(tmp_path / "config", executable, player)


def run(system: SystemdUser | None, *words: object, language: str = "en") -> Result:
    cli = build_cli_app(lambda _: 0, Options(init_system=lambda: system))
    return CliRunner().invoke(cli, ["--language", language, "service", *map(str, words)])


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ("wrote {file}", "OpenCrab runs in the background")),
        ("ja", ("{file} に書き込みました", "OpenCrab をバックグラウンドで実行しています")),
    ],
)
def test_install_writes_the_definition_and_starts_it(
    system: SystemdUser,
    player: ProgramPlayer,
    tmp_path: Path,
    language: str,
    expected: tuple[str, str],
) -> None:
    wrote, runs = expected
    said = run(system, "install", "--port", 9000, "--data", tmp_path / "メモ", language=language)
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines()[0] == wrote.format(file=system.definition)
    assert runs in said.stdout
    assert str(tmp_path / "メモ" / ".env") in said.stderr
    command = f'"{system.executable}" "--language" "{language}" "up" "--data" "{tmp_path}/メモ"'
    assert f'ExecStart={command} "--port" "9000"\n' in system.definition.read_text("utf-8")
    assert player.ran[-1] == "systemctl --user restart opencrab.service"


def test_the_data_folder_is_named_from_the_root(
    system: SystemdUser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(system, "install", "--data", "mine").exit_code == 0
    assert f'"{tmp_path}/mine"' in system.definition.read_text("utf-8")


def test_a_dry_run_needs_no_systemd_and_does_nothing(
    system: SystemdUser, player: ProgramPlayer
) -> None:
    player.answers["systemctl"] = ProgramResult(1, "no bus")
    said = run(system, "install", "--dry-run")
    assert said.exit_code == 0
    assert "would run systemctl --user daemon-reload" in said.stdout
    assert "    Restart=on-failure" in said.stdout
    assert not system.definition.exists()
    assert not player.ran


@pytest.mark.parametrize(
    ("language", "word"), [("en", "does not answer"), ("ja", "応答がありません")]
)
def test_without_a_systemd_that_answers_nothing_is_written(
    system: SystemdUser, player: ProgramPlayer, language: str, word: str
) -> None:
    player.answers["systemctl --user show-environment"] = ProgramResult(1, "no bus")
    said = run(system, "install", language=language)
    assert said.exit_code == 3
    assert word in said.stderr
    assert "no bus" in said.stderr
    assert "docs/how-to/install" in said.stderr
    assert not system.definition.exists()


@pytest.mark.parametrize(
    ("language", "word"), [("en", "has neither"), ("ja", "どちらもありません")]
)
def test_another_system_is_told_what_it_can_do(language: str, word: str) -> None:
    said = run(None, "install", language=language)
    assert said.exit_code == 3
    assert word in said.stderr
    assert "opencrab up" in said.stderr


@pytest.mark.parametrize("part", ["archive-v0/x/bin", "environments-v2/x/bin", ".cache/pipx/x/bin"])
def test_a_command_in_a_cache_is_not_installed(
    system: SystemdUser, tmp_path: Path, part: str
) -> None:
    place = tmp_path / part / "opencrab"
    place.parent.mkdir(parents=True)
    place.touch()
    said = run(replace(system, executable=place), "install")
    assert said.exit_code == 2
    assert "pipx install opencrab" in said.stderr


@pytest.mark.parametrize("words", [("install",), ("uninstall",)])
def test_a_definition_of_somebody_else_stays(system: SystemdUser, words: tuple[str, ...]) -> None:
    system.definition.parent.mkdir(parents=True)
    system.definition.write_text("[Service]\nExecStart=/bin/mine\n", "utf-8")
    said = run(system, *words)
    assert said.exit_code == 6
    assert "/bin/mine" in system.definition.read_text("utf-8")


def test_a_line_break_gets_into_no_definition(system: SystemdUser) -> None:
    said = run(system, "install", "--provider", "x\nExecStart=/bin/evil")
    assert said.exit_code == 2
    assert not system.definition.exists()


def test_a_step_that_fails_is_named_with_what_it_said(
    system: SystemdUser, player: ProgramPlayer
) -> None:
    player.answers["systemctl --user restart"] = ProgramResult(5, "unit is masked")
    said = run(system, "install")
    assert said.exit_code == 3
    assert "`systemctl --user restart opencrab.service` failed (exit code 5)" in said.stderr
    assert "unit is masked" in said.stderr


@pytest.mark.parametrize("words", [("status",), ("logs",), ("uninstall",)])
def test_what_is_not_installed_is_not_found(system: SystemdUser, words: tuple[str, ...]) -> None:
    said = run(system, *words)
    assert said.exit_code == 5
    assert "opencrab service install" in said.stderr


@pytest.mark.parametrize(
    ("language", "running", "stopped"),
    [
        ("en", "process 41", "does not run in the background (failed)"),
        ("ja", "プロセス 41", "動作していません(failed)"),
    ],
)
def test_its_status_is_told_and_is_the_exit_code(
    system: SystemdUser, player: ProgramPlayer, language: str, running: str, stopped: str
) -> None:
    run(system, "install")
    said = run(system, "status", language=language)
    assert (said.exit_code, running in said.stdout) == (0, True), said.output
    player.answers[SHOW] = ProgramResult(0, "ActiveState=failed\nMainPID=0")
    said = run(system, "status", language=language)
    assert (said.exit_code, stopped in said.stdout) == (1, True), said.output


def test_json_has_the_state_and_the_steps(system: SystemdUser) -> None:
    steps = json.loads(run(system, "install", "--json").stdout)
    assert steps["done"] is True
    assert steps["steps"][0]["write"] == str(system.definition)
    assert steps["steps"][1] == {"run": ["systemctl", "--user", "daemon-reload"]}
    assert json.loads(run(system, "status", "--json").stdout)["process_id"] == 41


def test_logs_go_to_the_terminal(system: SystemdUser, player: ProgramPlayer) -> None:
    run(system, "install")
    assert run(system, "logs", "--lines", 7, "--follow").exit_code == 0
    assert player.shown[-1].endswith("--lines=7 --follow")


def test_uninstall_leaves_the_data(
    system: SystemdUser, player: ProgramPlayer, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    run(system, "install", "--data", data)
    said = run(system, "uninstall")
    assert said.exit_code == 0
    assert not system.definition.exists()
    assert data.is_dir()
    assert "systemctl --user disable --now opencrab.service" in player.ran
