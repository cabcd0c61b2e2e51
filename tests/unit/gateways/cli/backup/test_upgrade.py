"""The command upgrade: what it says, in both languages, and what it leaves."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from opencrab import __version__
from opencrab.adapters.sqlite.home import FILE
from opencrab.bootstrap.data_upgrade import upgrade_local_data_folder
from opencrab.engine.installation.data_migration import DATA_MIGRATIONS
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.backup.upgrade import _MIGRATIONS
from opencrab.gateways.cli.terminal.options import Options
from tests.unit.adapters.backup.installation import installation
from tests.unit.adapters.sqlite.home import home


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a release before autonomy: its agent has no next heartbeat."""
    return installation(tmp_path / "data")


def run(data: Path, *args: object, language: str = "en") -> Result:
    cli = build_cli_app(lambda _: 0, Options(upgrade=upgrade_local_data_folder))
    words = ["--data", str(data), "--language", language, "upgrade", *map(str, args)]
    return CliRunner().invoke(cli, words)


def has_next_heartbeat(data: Path) -> bool:
    with home(data) as (opened, _):
        return opened.facts.get("hana", "vitals", "vitals") is not None


@pytest.mark.parametrize(
    ("language", "found", "done"),
    [
        ("en", "1 of 1 agents had no next heartbeat", f"upgraded to {__version__}"),
        ("ja", "1 エージェントのうち 1 に、次のハートビート", f"{__version__} に移行しました"),
    ],
)
def test_a_folder_is_checked_backed_up_migrated_and_checked(
    data: Path, tmp_path: Path, language: str, found: str, done: str
) -> None:
    ended = run(data, language=language)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert found in ended.stdout
    assert done in ended.stdout
    (backup,) = (tmp_path / "data-backups").iterdir()
    assert str(backup) in ended.stdout
    assert has_next_heartbeat(data)
    assert not has_next_heartbeat(backup / "data")
    # With the keys: a restore of it signs the same people in.
    assert (backup / "data" / "owner.key").is_file()


def test_the_second_time_there_is_nothing_to_do(data: Path, tmp_path: Path) -> None:
    run(data)
    again = run(data)
    assert again.exit_code == 0
    assert "nothing to do" in again.stdout
    assert len(list((tmp_path / "data-backups").iterdir())) == 1


def test_a_dry_run_says_what_would_change(data: Path, tmp_path: Path) -> None:
    told = run(data, "--dry-run")
    assert told.exit_code == 0
    assert "1 of 1 agents had no next heartbeat" in told.stdout
    assert "nothing was changed" in told.stdout
    assert not (tmp_path / "data-backups").exists()
    assert not has_next_heartbeat(data)


def test_scripts_get_json(data: Path, tmp_path: Path) -> None:
    done = json.loads(run(data, "--backup", tmp_path / "kept", "--json").stdout)
    assert (done["before"], done["release"], done["changed"]) == (None, __version__, 1)
    assert (done["backup"], done["problems"]) == (str(tmp_path / "kept"), [])
    assert [each["name"] for each in done["migrations"]] == ["first_heartbeats", "schedule_times"]


def test_every_migration_has_a_sentence() -> None:
    assert _MIGRATIONS.keys() == DATA_MIGRATIONS.keys()


def test_a_damaged_folder_is_not_upgraded(data: Path, tmp_path: Path) -> None:
    (data / FILE).write_bytes(b"this is no database" * 200)
    refused = run(data)
    assert refused.exit_code == 1
    assert "✗" in refused.stdout
    assert "was not upgraded" in refused.stdout
    assert not (tmp_path / "data-backups").exists()


def test_a_running_opencrab_is_to_be_stopped_first(data: Path) -> None:
    with home(data):
        refused = run(data)
    assert refused.exit_code != 0
    assert "another OpenCrab is running" in refused.stderr
    assert "stop it" in refused.stderr


def test_a_folder_without_a_database_is_named_and_not_made(tmp_path: Path) -> None:
    refused = run(tmp_path / "nowhere")
    assert refused.exit_code != 0
    assert "nowhere" in refused.stderr
    assert not (tmp_path / "nowhere").exists()
