"""Manifests: what no backup contains, and times that cannot be used, are refused."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from opencrab.adapters.backup.manifest import MANIFEST, read_backup_manifest
from opencrab.adapters.local_files.tree import FileEntry
from opencrab.adapters.sqlite.home import FILE
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from tests.unit.adapters.backup.installation import BACKUPS, installation


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return installation(tmp_path / "data")


@pytest.mark.parametrize(
    "name",
    [
        f"{FILE}-wal",
        f"{FILE.upper()}-WAL",
        f"{FILE}-journal",
        f"{FILE}.last-commit",
        "owner.key",
        "Owner.key",
        "secrets.json",
        "endpoint",
        "search-copies/1.db",
    ],
)
def test_a_manifest_that_names_what_no_backup_contains_is_refused(
    data: Path, tmp_path: Path, name: str
) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    planted = tmp_path / "backup" / "data" / name
    planted.parent.mkdir(exist_ok=True)
    planted.write_bytes(b"planted")
    manifest = read_backup_manifest(tmp_path / "backup")
    entry = FileEntry(name, 7, content_hash(b"planted"))
    crafted = replace(manifest, files=(*manifest.files, entry))
    (tmp_path / "backup" / MANIFEST).write_bytes(crafted.document())
    for read in (BACKUPS.verify, lambda folder: BACKUPS.restore(folder, tmp_path / "new")):
        with pytest.raises(Invalid, match="which no backup contains"):
            read(tmp_path / "backup")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00", "2026-11-28T15:53:00", "9999-12-31T23:59:59+00:00"]
)
def test_a_manifest_whose_time_cannot_be_used_is_refused(
    data: Path, tmp_path: Path, moment: str
) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    manifest = read_backup_manifest(tmp_path / "backup")
    crafted = replace(manifest, created_at=datetime.fromisoformat(moment))
    (tmp_path / "backup" / MANIFEST).write_bytes(crafted.document())
    for read in (BACKUPS.verify, lambda folder: BACKUPS.restore(folder, tmp_path / "new")):
        with pytest.raises(Invalid, match="no zone or is out of range"):
            read(tmp_path / "backup")
