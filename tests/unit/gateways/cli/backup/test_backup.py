"""The commands backup, restore and verify: what they say, in both languages, and how they end."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from opencrab.adapters.local_files import AttachedFiles
from opencrab.adapters.sqlite.home import FILE
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace
from tests.unit.adapters.backup.installation import BACKUPS, installation
from tests.unit.adapters.sqlite.home import database


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return installation(tmp_path / "data")


def run(data: Path, *args: object, language: str = "en") -> Result:
    cli = build_cli_app(lambda _: 0, Options(backups=lambda: BACKUPS))
    words = ["--data", str(data), "--language", language, *map(str, args)]
    return CliRunner().invoke(cli, words)


def json_of(found: Result) -> Any:
    return json.loads(found.stdout)


def test_a_backup_is_made_checked_and_restored(data: Path, tmp_path: Path) -> None:
    made = run(data, "backup", tmp_path / "b")
    assert (made.exit_code, made.stderr) == (0, "")
    assert f"Backed up to {tmp_path / 'b'}: " in made.stdout
    assert "--with-secrets" in made.stdout
    checked = run(data, "verify", tmp_path / "b")
    assert (checked.exit_code, checked.stdout[:1]) == (0, "✓")
    restored = run(tmp_path / "new", "restore", tmp_path / "b")
    assert restored.exit_code == 0
    assert f"opencrab up --data {tmp_path / 'new'}" in restored.stdout
    again = run(tmp_path / "new", "restore", tmp_path / "b")
    assert again.exit_code == 4
    assert "is not empty" in again.stderr
    assert "--data" in again.stderr


def test_scripts_get_json(data: Path, tmp_path: Path) -> None:
    made = json_of(run(data, "backup", tmp_path / "b", "--with-secrets", "--json"))
    assert (made["folder"], made["with_secrets"]) == (str(tmp_path / "b"), True)
    assert json_of(run(data, "verify", "--json"))["problems"] == []
    restored = json_of(run(tmp_path / "new", "restore", tmp_path / "b", "--json"))
    assert restored["commits"] == made["commits"]
    assert restored["data"] == str(tmp_path / "new")
    assert json_of(run(data, "backup", "--stage", "main", "--json"))["commands"]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "can be used by other users (mode 0755)"),
        ("ja", "を他のユーザーが使えます(モード 0755)"),
    ],
)
def test_problems_are_listed_with_their_cures_and_status_1(
    data: Path, language: str, said: str
) -> None:
    data.chmod(0o755)
    (data / "hana" / "workspace" / "link").symlink_to("/etc/passwd")
    shutil.rmtree(data / "blobs")
    found = run(data, "verify", language=language)
    assert found.exit_code == 1
    assert f"✗ {data} {said}" in found.stdout
    assert f"chmod 700 {data}" in found.stdout
    assert found.stdout.count("→") == found.stdout.count("✗") == 3


def test_every_kind_of_problem_has_its_sentence(data: Path, tmp_path: Path) -> None:
    run(data, "backup", tmp_path / "b")
    content = tmp_path / "b" / "data"
    (content / "hana" / "workspace" / "notes" / "蟹.md").write_bytes(b"TWO")
    (content / "discord-relay.json").unlink()
    (content / "more").write_bytes(b"")
    shutil.rmtree(content / "blobs")
    for language in ("en", "ja"):
        found = run(data, "verify", tmp_path / "b", language=language)
        assert found.exit_code == 1
        for name in ("蟹.md", "discord-relay.json", "more", "blobs/"):
            assert name in found.stdout
    kinds = {
        each["kind"] for each in json_of(run(data, "verify", tmp_path / "b", "--json"))["problems"]
    }
    assert kinds == {"changed", "missing", "unknown", "blob_missing"}


def test_a_lost_database_is_found_and_accepted(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / FILE, tmp_path / "old")
    with database(data) as opened, opened.write_transaction() as items:
        items.put("p", "一", "蟹")
    (tmp_path / "old").replace(data / FILE)
    found = run(data, "verify")
    assert found.exit_code == 1
    assert f"opencrab admin verify {data} --accept" in found.stdout
    accepted = run(data, "verify", "--accept")
    assert accepted.exit_code == 0
    assert "1 commits are lost" in accepted.stdout
    assert run(data, "verify").exit_code == 0


@pytest.mark.parametrize("verb", ["backup", "restore", "verify"])
def test_a_stage_on_aws_is_told_its_commands(data: Path, verb: str) -> None:
    found = run(data, verb, "--stage", "prod")
    assert found.exit_code == 0
    assert "opencrab-prod" in found.stdout
    assert "prod" in found.stderr
    wrong = run(data, verb, "--stage", "PROD; x")
    assert (wrong.exit_code, wrong.stdout) == (2, "")


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_without_a_folder_the_cure_is_said(data: Path, verb: str) -> None:
    found = run(data, verb)
    assert found.exit_code == 2
    assert "DIR" in found.stderr


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Not in the backup, because"), ("ja", "バックアップに含まれていません: ")],
)
def test_a_backup_says_that_folders_of_the_owner_are_not_in_it(
    data: Path, tmp_path: Path, language: str, said: str
) -> None:
    (tmp_path / "ノート").mkdir()
    wanted = AttachedFolder("hana", AttachedPlace.VAULT, str(tmp_path / "ノート"))
    AttachedFiles(data).attach(wanted)
    made = run(data, "backup", tmp_path / "b", language=language)
    assert said in made.stdout
    assert str(tmp_path / "ノート") in made.stdout
