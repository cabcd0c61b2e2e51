"""Which paths an attached folder takes, and what of it OpenCrab may delete."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opencrab.adapters.local_files import AttachedFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Conflict, Invalid
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace

VAULT, WORKSPACE = AttachedPlace.VAULT, AttachedPlace.WORKSPACE


@pytest.fixture
def files(tmp_path: Path) -> AttachedFiles:
    return AttachedFiles(tmp_path / "data")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 11, 21, tzinfo=UTC))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Obsidian ノート"
    folder.mkdir()
    (folder / "朝会.md").write_text("朝", encoding="utf-8")
    return folder


def paths(files: AttachedFiles, prefix: str = "") -> list[str]:
    return [info.path for info in files.list("mika", prefix)]


def test_a_vault_takes_the_paths_below_vault_and_no_others(
    files: AttachedFiles, vault: Path
) -> None:
    files.write("mika", "vault/old.md", b"own")
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    files.write("mika", "notes/a.md", b"n")
    files.write("mika", "vault/会議/b.md", b"b")
    assert (vault / "会議/b.md").read_bytes() == b"b"
    assert paths(files) == ["notes/a.md", "vault/会議/b.md", "vault/朝会.md"]
    assert paths(files, "vault") == ["vault/会議/b.md", "vault/朝会.md"]
    assert paths(files, "notes") == ["notes/a.md"]
    assert [info.path for info in files.list("ken")] == []
    files.detach("mika", VAULT)
    assert paths(files) == ["notes/a.md", "vault/old.md"]
    assert (vault / "会議/b.md").read_bytes() == b"b"


def test_a_workspace_takes_all_but_what_people_send_and_what_all_may_read(
    files: AttachedFiles, vault: Path
) -> None:
    files.write("mika", "uploads/p/x.txt", b"sent")
    (vault / "uploads/p").mkdir(parents=True)
    (vault / "uploads/p/x.txt").write_text("the owner's", encoding="utf-8")
    (vault / "public").mkdir()
    (vault / "public/私.md").write_text("not for all", encoding="utf-8")
    files.attach(AttachedFolder("mika", WORKSPACE, str(vault)))
    files.write("mika", "data/results/t-1.json", b"{}")
    files.write("mika", "data/表.csv", b"1")
    assert paths(files) == ["data/results/t-1.json", "data/表.csv", "uploads/p/x.txt", "朝会.md"]
    assert paths(files, "data") == ["data/results/t-1.json", "data/表.csv"]
    files.delete("mika", "uploads/p/x.txt")
    assert (vault / "uploads/p/x.txt").read_text(encoding="utf-8") == "the owner's"
    assert files.info("mika", "public/私.md") is None


def test_it_is_attached_after_a_restart(files: AttachedFiles, vault: Path, tmp_path: Path) -> None:
    kept = files.attach(AttachedFolder("mika", VAULT, str(vault)))
    again = AttachedFiles(tmp_path / "data")
    assert again.all() == files.all() == (kept,)
    assert paths(again) == ["vault/朝会.md"]


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("{top}/無い", "does not exist"),
        ("{top}/Obsidian ノート/朝会.md", "is a file"),
        ("/", "holds all of a computer"),
        ("~", "is not absolute"),
        ("{top}/data", "holds OpenCrab's own data"),
        ("{top}/data/mika", "holds OpenCrab's own data"),
        ("{top}", "holds OpenCrab's own data"),
        ("{top}/.hidden", "is hidden"),
    ],
)
def test_a_folder_that_cannot_serve_is_refused(
    folder: str, told: str, files: AttachedFiles, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / ".hidden").mkdir()
    files.write("mika", "a", b"x")
    with pytest.raises(Invalid, match=told):
        files.attach(AttachedFolder("mika", VAULT, folder.format(top=tmp_path)))
    assert files.all() == ()
    assert vault.is_dir()


def test_one_folder_serves_one_agent_once(files: AttachedFiles, vault: Path) -> None:
    (vault / "会議").mkdir()
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    for agent_id, place, folder in (
        ("ken", VAULT, vault),
        ("ken", VAULT, vault / "会議"),
        ("mika", WORKSPACE, vault),
    ):
        with pytest.raises(Conflict, match="is in use: agent 'mika'"):
            files.attach(AttachedFolder(agent_id, place, str(folder)))
    assert files.attach(AttachedFolder("mika", VAULT, str(vault / "会議"))).place is VAULT


def test_a_link_to_a_folder_means_the_folder(
    files: AttachedFiles, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(vault)
    kept = files.attach(AttachedFolder("mika", VAULT, str(tmp_path / "link")))
    assert kept.folder == str(vault)


def test_versions_of_attached_files_end_like_others(
    files: AttachedFiles, vault: Path, clock: FakeClock
) -> None:
    """Those of an existing file stay, those of a detached folder end after the same time."""
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    files.write("mika", "vault/朝会.md", "昼".encode())
    month = timedelta(days=30)
    for _ in range(2):
        assert files.end_deleted_versions(clock.now() + 2 * month, month) == 0
    assert len(files.versions("mika", "vault/朝会.md")) == 2
    files.detach("mika", VAULT)
    assert files.versions("mika", "vault/朝会.md") == ()
    files.end_deleted_versions(clock.now(), month)
    assert files.end_deleted_versions(clock.now() + 5_000 * month, month) == 1


def test_forgetting_a_path_reaches_the_versions_of_a_detached_folder(
    files: AttachedFiles, vault: Path
) -> None:
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    files.write("mika", "vault/朝会.md", "昼".encode())
    files.detach("mika", VAULT)
    assert files.delete_versions("mika", "vault/朝会.md") == 1
    assert (vault / "朝会.md").read_text(encoding="utf-8") == "昼"


def test_versions_of_a_folder_that_is_not_there_for_now_stay(
    files: AttachedFiles, vault: Path, clock: FakeClock
) -> None:
    """Such as one on a disk that is unplugged; those of other agents' files end as usual."""
    month = timedelta(days=30)
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    files.write("mika", "vault/朝会.md", "昼".encode())
    vault.rename(vault.with_name("away"))
    for moment in (clock.now(), clock.now() + 5_000 * month):
        assert files.end_deleted_versions(moment, month) == 0
    vault.with_name("away").rename(vault)
    assert len(files.versions("mika", "vault/朝会.md")) == 2


def test_what_is_forgotten_is_deleted_also_while_the_folder_is_not_there(
    files: AttachedFiles, vault: Path
) -> None:
    """The older versions lie in the data folder."""
    files.attach(AttachedFolder("mika", VAULT, str(vault)))
    files.write("mika", "vault/朝会.md", "昼".encode())
    vault.rename(vault.with_name("away"))
    assert files.delete_versions("mika", "vault/朝会.md") == 1
    vault.with_name("away").rename(vault)
    assert len(files.versions("mika", "vault/朝会.md")) == 1
