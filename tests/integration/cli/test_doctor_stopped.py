"""Installations that do not run: the doctor looks at the folder, and its cure mends it."""

import os
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.inspection.database import database_file_for_inspection
from opencrab.gateways.cli.language.sentences import EN, JA
from tests.integration.cli.breaking import Case, commands, wrong
from tests.integration.cli.installation import Finding, Installation


def lose_database(at: Installation) -> None:
    database_file_for_inspection(at.data).rename(at.data.parent / "lost.db")


def put_database_back(at: Installation, finding: Finding) -> None:
    assert "put it back" in finding.cure
    (at.data.parent / "lost.db").rename(database_file_for_inspection(at.data))


def accept_loss(at: Installation, finding: Finding) -> None:
    (words,) = [words for words in commands(finding.cure) if "verify" in words]
    code, said = at.run(*words)
    assert code == 0, said


def damage_database(at: Installation) -> None:
    path = database_file_for_inspection(at.data)
    shutil.copy(path, at.data.parent / "good.db")
    path.write_bytes(b"SQLite format 3\0" + bytes(8_000))


def restore_backup(at: Installation, finding: Finding) -> None:
    assert "restore a backup" in finding.cure
    found = at.rotation.newest()
    assert found is not None
    shutil.rmtree(at.data)
    code, said = at.run("restore", str(found[1]))
    assert code == 0, said


def write_newer_schema(at: Installation) -> None:
    _set_schema(at, 99)


def start_newer_version(at: Installation, finding: Finding) -> None:
    assert "newer version" in finding.cure
    _set_schema(at, 1)


def _set_schema(at: Installation, version: int) -> None:
    connection = sqlite3.connect(database_file_for_inspection(at.data))
    connection.execute(f"PRAGMA user_version={version}")
    connection.commit()
    connection.close()


def live_in_the_future(at: Installation) -> None:
    later = (at.clock.now() + timedelta(hours=3)).timestamp()
    os.utime(at.data / "opencrab.db.lock", (later, later))


def live_now(at: Installation, finding: Finding) -> None:
    assert "NTP" in finding.cure
    os.utime(at.data / "opencrab.db.lock")


def open_key_file(at: Installation) -> None:
    (at.data / "owner.key").write_text("oc_x", encoding="utf-8")
    (at.data / "owner.key").chmod(0o644)


def close_key_file(at: Installation, finding: Finding) -> None:
    ((mode, path),) = commands(finding.cure, "chmod")
    assert Path(path) == at.data / "owner.key"
    Path(path).chmod(int(mode, 8))


STOPPED = (
    Case("database missing", lose_database, "database", put_database_back),
    Case("database lost for good", lose_database, "database", accept_loss),
    Case("database damaged", damage_database, "database", restore_backup),
    Case("newer schema", write_newer_schema, "database", start_newer_version),
    Case("clock set back", live_in_the_future, "clock", live_now),
    Case("key file open to others", open_key_file, "owner_key", close_key_file, "warning"),
)


@pytest.mark.parametrize("case", STOPPED, ids=lambda case: case.name)
def test_a_folder_without_a_server_is_examined(broken: Installation, case: Case) -> None:
    broken.stop()
    case.breaks(broken)
    findings = broken.doctor()
    assert wrong(findings, "server")
    found = wrong(findings, case.check, case.verdict)
    assert found
    case.mends(broken, found[0])
    assert not wrong(broken.doctor(), case.check, case.verdict)


@pytest.mark.parametrize("language", [EN, JA])
def test_opencrab_that_does_not_run_is_told_with_how_to_start_it(
    broken: Installation, language: str
) -> None:
    broken.stop()
    (found,) = wrong(broken.doctor(language=language), "server")
    assert "`opencrab up`" in found.cure
    broken.start()
    assert not wrong(broken.doctor(language=language), "server")


def test_a_process_that_holds_the_folder_and_does_not_answer_is_named(
    broken: Installation,
) -> None:
    broken.bridge.app = None
    (found,) = wrong(broken.doctor(), "process")
    assert commands(found.cure, "kill") == [[str(os.getpid())]]
    broken.stop()
    assert not wrong(broken.doctor(), "process")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OPENCRAB_BUDGET__TURN_US", "1"),
        ("OPENCRAB_BUDGET__TURN_USD", "much"),
        ("OPENCRAB_BACKUP__EVERY", "soon"),
        ("OPENCRAB_LLM__PROVIDERS__OPENAI__KIND", "opneai"),
    ],
)
def test_a_setting_that_cannot_be_is_named_with_its_variable(
    broken: Installation, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    broken.stop()
    monkeypatch.setenv(variable, value)
    (found,) = wrong(broken.doctor(), "config")
    assert variable in found.detail or variable.rsplit("__", maxsplit=1)[-1].lower() in found.detail
    monkeypatch.delenv(variable)
    assert not wrong(broken.doctor(), "config")


def test_a_broken_configuration_file_is_named_with_its_line(
    broken: Installation, tmp_path: Path
) -> None:
    broken.stop()
    folder = tmp_path / "config"
    shutil.copytree(Path("config"), folder)
    file = folder / "default.toml"
    sound = file.read_text(encoding="utf-8")
    file.write_text("[agent]\nname = \n" + sound, encoding="utf-8")
    broken.config = folder
    (found,) = wrong(broken.doctor(), "config")
    assert str(file) in found.detail
    assert "line 2" in found.detail
    file.write_text(sound, encoding="utf-8")
    assert not wrong(broken.doctor(), "config")
