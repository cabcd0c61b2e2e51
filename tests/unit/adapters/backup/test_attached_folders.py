"""Folders of the owner that serve agents: named by a backup, and not in it."""

from pathlib import Path

from opencrab.adapters.local_files import AttachedFiles
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace
from tests.unit.adapters.backup.installation import BACKUPS, installation


def test_folders_of_the_owner_are_named_and_are_not_in_a_backup(tmp_path: Path) -> None:
    data, vault = installation(tmp_path / "data"), tmp_path / "ノート"
    vault.mkdir()
    (vault / "蟹.md").write_text("x", encoding="utf-8")
    AttachedFiles(data).attach(AttachedFolder("hana", AttachedPlace.VAULT, str(vault)))
    made = BACKUPS.back_up(data, tmp_path / "backup")
    assert made.attached == (str(vault),)
    assert not any(each.name == "蟹.md" for each in (tmp_path / "backup").rglob("vault/*"))
    assert BACKUPS.restore(tmp_path / "backup", tmp_path / "new").attached == (str(vault),)
    assert AttachedFiles(tmp_path / "new").read("hana", "vault/蟹.md")[1] == b"x"
