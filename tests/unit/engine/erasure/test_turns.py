"""What is left for the owner to look at after the data of a turn was erased."""

from pathlib import Path

from opencrab.adapters.local_files import AttachedFiles
from opencrab.engine.erasure.turns import files_remaining_after_erasure
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace


def test_a_file_in_a_folder_that_is_not_there_may_remain(tmp_path: Path) -> None:
    vault = tmp_path / "ノート"
    vault.mkdir()
    files = AttachedFiles(tmp_path / "data")
    files.attach(AttachedFolder("mika", AttachedPlace.VAULT, str(vault)))
    named = ["mika:vault/朝.md", "mika:notes/a.md"]
    assert list(files_remaining_after_erasure(files, named)) == []
    vault.rename(tmp_path / "away")
    assert list(files_remaining_after_erasure(files, named)) == ["mika:vault/朝.md"]
