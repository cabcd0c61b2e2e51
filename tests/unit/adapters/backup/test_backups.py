"""Backups: complete or not there, without secrets unless asked, restored to an empty place."""

import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.backup.manifest import MANIFEST, read_backup_manifest
from opencrab.adapters.local_files import DirectorySnapshots, LocalFiles
from opencrab.adapters.local_files.tree import FileEntry
from opencrab.adapters.sqlite.backup import copy_sqlite_database
from opencrab.adapters.sqlite.file import DamagedDatabase
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import sqlite_marker_path
from opencrab.domain.errors import Invalid, NotFound, Refused, Unavailable
from opencrab.domain.identifier import content_hash
from tests.unit.adapters.backup.installation import BACKUPS, BODY, CLOCK, installation, names
from tests.unit.adapters.sqlite.home import database, home
from tests.unit.adapters.sqlite.home import run as run_program


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return installation(tmp_path / "data")


def kinds(folder: Path) -> list[str]:
    return sorted(each.kind for each in BACKUPS.verify(folder).problems)


def test_what_is_restored_elsewhere_is_all_there(data: Path, tmp_path: Path) -> None:
    made = BACKUPS.back_up(data, tmp_path / "backup")
    assert (made.folder, made.with_secrets) == (tmp_path / "backup", False)
    shutil.rmtree(data)
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    assert BACKUPS.verify(tmp_path / "new").problems == ()
    with home(tmp_path / "new") as (opened, _):
        assert opened.agents.get("hana").agent.name == "花"
        info, content = opened.files.read("hana", "notes/蟹.md")
        assert (content, info.clean) == (b"two", True)
        older = opened.files.versions("hana", "notes/蟹.md")[1]
        assert opened.files.read_version("hana", "notes/蟹.md", older.version) == b"one"
        assert opened.blobs.get(content_hash(BODY)) == BODY
    assert DirectorySnapshots(tmp_path / "new" / "search", CLOCK).newest("hana") is not None
    assert (tmp_path / "new" / "discord-relay.json").read_text() == "{}"


def test_secrets_and_what_belongs_to_the_process_stay_out(data: Path, tmp_path: Path) -> None:
    (data / ".env").write_text("OPENAI_API_KEY=sk-secret\n")
    (data / ".env").chmod(0o600)
    (data / "config.toml").write_text("[budget]\nturn_usd = 1\n")
    BACKUPS.back_up(data, tmp_path / "backup")
    kept = names(tmp_path / "backup" / "data")
    assert "config.toml" in kept
    assert not {"owner.key", "secrets.json", ".env", "endpoint", "secrets.json.lock"} & kept
    assert not {each for each in kept if each.startswith(("search-copies", f"{FILE}."))}
    everything = b"".join(
        each.read_bytes() for each in (tmp_path / "backup").rglob("*") if each.is_file()
    )
    assert b"sk-secret" not in everything
    assert b"oc_owner" not in everything


NAMED_LIKE_OURS = (
    ".writing/plan.md",
    "notes/.writing/contract.md",
    "search-copies/a.md",
    "blobs/.writing/b.md",
    "growing-up/diary.md",
    "drafts/.writing",
)


def test_a_folder_of_a_workspace_may_have_the_name_of_one_of_ours(
    data: Path, tmp_path: Path
) -> None:
    files = LocalFiles(data)
    for path in NAMED_LIKE_OURS:
        files.write("hana", path, b"draft")
        files.write("hana", path, b"important")
    BACKUPS.back_up(data, tmp_path / "backup")
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    restored = LocalFiles(tmp_path / "new")
    for path in NAMED_LIKE_OURS:
        assert restored.read("hana", path)[1] == b"important"
        assert len(restored.versions("hana", path)) == 2


@pytest.mark.parametrize("name", [".writing", "search-copies"])
def test_what_is_wrong_in_a_folder_named_like_ours_is_found(data: Path, name: str) -> None:
    (data / "hana" / "workspace" / name).mkdir()
    (data / "hana" / "workspace" / name / "link").symlink_to("/etc/passwd")
    assert kinds(data) == ["strange"]


def test_files_that_are_being_written_stay_out(data: Path, tmp_path: Path) -> None:
    for folder in (data / ".writing", data / "blobs" / ".writing"):
        folder.mkdir(exist_ok=True)
        (folder / "half").write_bytes(b"ha")
    (data / "search" / "hana" / "growing-1").write_bytes(b"ha")
    BACKUPS.back_up(data, tmp_path / "backup")
    kept = names(tmp_path / "backup" / "data")
    assert not {each for each in kept if each.endswith(("half", "growing-1"))}
    assert kinds(data) == []


def test_secrets_come_along_by_choice_for_their_owner_alone(data: Path, tmp_path: Path) -> None:
    (data / ".env").write_text("OPENAI_API_KEY=sk-secret\n")
    BACKUPS.back_up(data, tmp_path / "backup", with_secrets=True)
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    for name in ("owner.key", "secrets.json", ".env"):
        assert (tmp_path / "new" / name).read_bytes() == (data / name).read_bytes()
        assert (tmp_path / "new" / name).stat().st_mode & 0o077 == 0
    for folder in (tmp_path / "backup", tmp_path / "new"):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_backup_while_somebody_writes_holds_all_that_was_committed_before(
    tmp_path: Path,
) -> None:
    with database(tmp_path / "data", durable=True) as opened:
        stopping, committed = threading.Event(), [0]

        def write() -> None:
            while not stopping.is_set():
                with opened.write_transaction() as items:
                    items.put("p", f"{committed[0]:09}", "蟹" * 500)
                committed[0] += 1

        writer = threading.Thread(target=write)
        writer.start()
        before = []
        for number in range(4):
            while committed[0] < (number + 1) * 20:
                pass
            before.append(committed[0])
            BACKUPS.back_up(tmp_path / "data", tmp_path / f"backup{number}")
        stopping.set()
        writer.join()
    for number, least in enumerate(before):
        BACKUPS.restore(tmp_path / f"backup{number}", tmp_path / f"new{number}")
        with database(tmp_path / f"new{number}") as restored, restored.read_transaction() as items:
            found = [key for key, _ in items.between("p", "", "~")]
        assert found == [f"{key:09}" for key in range(len(found))]
        assert least <= len(found) <= committed[0]


def test_a_restored_database_is_refused_once_an_older_one_takes_its_place(
    data: Path, tmp_path: Path
) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    with database(tmp_path / "new") as opened, opened.write_transaction() as items:
        items.put("p", "later", "蟹")
    shutil.copy(tmp_path / "backup" / "data" / FILE, tmp_path / "new" / FILE)
    with pytest.raises(DamagedDatabase, match="newest ones are lost"), database(tmp_path / "new"):
        pass


@pytest.mark.parametrize("name", ["file", "folder", "link"])
def test_nothing_is_written_over(data: Path, tmp_path: Path, name: str) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    target = tmp_path / "target"
    if name == "file":
        target.write_text("日記")
    elif name == "link":
        target.symlink_to(tmp_path / "elsewhere")
    else:
        target.mkdir()
        (target / "日記").write_text("日記")
    before = names(tmp_path)
    for run, source in ((BACKUPS.restore, tmp_path / "backup"), (BACKUPS.back_up, data)):
        with pytest.raises(Refused, match="target") as caught:
            run(source, target)
        assert caught.value.cure
    assert names(tmp_path) == before


def test_an_empty_folder_takes_a_backup_and_a_restore(data: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    (tmp_path / "new").mkdir()
    BACKUPS.back_up(data, tmp_path / "backup")
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    assert kinds(tmp_path / "new") == []


def test_a_backup_inside_the_data_folder_is_refused(data: Path) -> None:
    with pytest.raises(Invalid, match="inside the data folder"):
        BACKUPS.back_up(data, data / "backups" / "monday")
    assert not (data / "backups").exists()


def test_folders_without_a_database_or_a_backup_are_named(tmp_path: Path) -> None:
    runs: list[Callable[[], object]] = [
        lambda: BACKUPS.back_up(tmp_path, tmp_path.with_name("backup")),
        lambda: BACKUPS.restore(tmp_path, tmp_path / "new"),
        lambda: BACKUPS.verify(tmp_path),
        lambda: BACKUPS.accept_loss(tmp_path),
    ]
    for run in runs:
        with pytest.raises(NotFound) as caught:
            run()
        assert str(tmp_path) in caught.value.message
        assert caught.value.cure


def changed(content: Path) -> None:
    (content / "hana" / "workspace" / "notes" / "蟹.md").write_bytes(b"TWO")


def missing(content: Path) -> None:
    (content / "hana" / "workspace" / "notes" / "蟹.md").unlink()


def added(content: Path) -> None:
    (content / "hana" / "workspace" / "more").write_bytes(b"")


def linked(content: Path) -> None:
    shutil.copytree(content / "hana", content.parent.parent / "hana")
    shutil.rmtree(content / "hana")
    (content / "hana").symlink_to(content.parent.parent / "hana")


def database_damaged(content: Path) -> None:
    whole = (content / FILE).read_bytes()
    (content / FILE).write_bytes(whole[:4096] + b"crab" * 1024 + whole[8192:])


def database_missing(content: Path) -> None:
    (content / FILE).unlink()


def manifest_damaged(content: Path) -> None:
    manifest = content.parent / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"size": 3', b'"size": 4'))


DAMAGES = [
    changed,
    missing,
    added,
    linked,
    database_damaged,
    database_missing,
    manifest_damaged,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_damaged_backup_is_found_and_not_restored(
    data: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    assert kinds(tmp_path / "backup") == []
    damage(tmp_path / "backup" / "data")
    try:
        assert kinds(tmp_path / "backup") != []
    except Invalid:
        assert damage is manifest_damaged
    with pytest.raises(Invalid, match="damaged"):
        BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".*growing*"))


def test_a_manifest_that_leads_out_of_the_backup_is_refused(data: Path, tmp_path: Path) -> None:
    BACKUPS.back_up(data, tmp_path / "backup")
    (tmp_path / "backup" / "secret").write_bytes(b"")
    manifest = read_backup_manifest(tmp_path / "backup")
    for path in ("../secret", "/etc/passwd", "a/../../secret", "./a", ""):
        entry = FileEntry(path, 0, content_hash(b""))
        crafted = replace(manifest, files=(*manifest.files, entry))
        (tmp_path / "backup" / MANIFEST).write_bytes(crafted.document())
        with pytest.raises(Invalid, match="it names a file"):
            BACKUPS.restore(tmp_path / "backup", tmp_path / "new")


def test_a_failure_in_the_middle_leaves_nothing_behind(data: Path, tmp_path: Path) -> None:
    (data / "hana" / "workspace" / "pipe").mkdir()
    whole = (data / FILE).read_bytes()
    (data / FILE).write_bytes(whole[:4096] + b"crab" * 1024 + whole[8192:])
    before = names(tmp_path)
    with pytest.raises(DamagedDatabase):
        BACKUPS.back_up(data, tmp_path / "backup")
    after = {each for each in names(tmp_path) if not each.endswith(("-wal", "-shm"))}
    assert after == before


def test_a_sound_data_folder_has_no_problem_and_is_left_as_it_is(data: Path) -> None:
    before = names(data)
    report = BACKUPS.verify(data)
    assert (report.problems, report.is_backup) == ((), False)
    assert {each for each in names(data) if not each.endswith(("-wal", "-shm"))} == before


def test_everything_wrong_with_a_data_folder_is_listed_with_a_cure(data: Path) -> None:
    (blob,) = (each for each in (data / "blobs").rglob("*") if each.is_file())
    (version,) = (each for each in (data / "hana" / "versions").rglob("*") if each.is_file())
    version.write_bytes(b"0ne")
    (data / "owner.key").chmod(0o644)
    data.chmod(0o755)
    (data / "hana" / "workspace" / "link").symlink_to("/etc/passwd")
    blob.rename(blob.with_name("f" * 62))
    assert kinds(data) == [
        "blob_missing",
        "content",
        "content",
        "permissions",
        "permissions",
        "strange",
    ]
    sqlite_marker_path(data / FILE).write_bytes(b"crab")
    with database(data):
        pass
    (data / FILE).unlink()
    (found,) = (each for each in BACKUPS.verify(data).problems if each.kind == "database")
    assert "missing" in found.detail
    assert f"opencrab admin verify {data} --accept" in found.cure


def test_an_accepted_loss_lets_it_start_and_search_begin_anew(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / FILE, tmp_path / "old")
    with database(data) as opened:
        for key in ("一", "二", "三"):
            with opened.write_transaction() as items:
                items.put("p", key, "蟹")
    (tmp_path / "old").replace(data / FILE)
    assert kinds(data) == ["database"]
    assert BACKUPS.accept_loss(data) == 3
    assert kinds(data) == []
    assert not (data / "search").exists()
    with home(data) as (opened_home, _):
        assert opened_home.agents.get("hana").agent.name == "花"
    (data / FILE).unlink()
    lost = BACKUPS.accept_loss(data)
    assert lost is not None
    assert lost > 0
    with home(data) as (opened_home, _):
        assert opened_home.agents.page(after=None, limit=9) == ()
    assert LocalFiles(data).read("hana", "notes/蟹.md")[1] == b"two"


def test_a_loss_is_not_accepted_while_it_runs_or_of_a_damaged_file(data: Path) -> None:
    with database(data), pytest.raises(Unavailable, match="another OpenCrab"):
        BACKUPS.accept_loss(data)
    os.truncate(data / FILE, 5_000)
    with pytest.raises(DamagedDatabase):
        BACKUPS.accept_loss(data)


def test_a_missing_database_beside_its_log_is_not_given_up(data: Path) -> None:
    (data / FILE).rename(data / "elsewhere")
    (data / f"{FILE}-wal").write_bytes(b"newest changes")
    with pytest.raises(Unavailable, match="-wal"):
        BACKUPS.accept_loss(data)


def test_a_restored_installation_judges_nothing_by_the_time_since_the_backup(
    data: Path, tmp_path: Path
) -> None:
    """A turn that ran during the backup did not run until the restore."""
    made = BACKUPS.back_up(data, tmp_path / "backup")
    BACKUPS.restore(tmp_path / "backup", tmp_path / "new")
    with database(tmp_path / "new") as opened:
        assert opened.last_alive == made.created_at


_LIMITED = """
import resource, sys
from pathlib import Path
from opencrab.adapters.sqlite.backup import copy_sqlite_database
from opencrab.domain.errors import Unavailable
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
try:
    copy_sqlite_database(Path(sys.argv[1]), Path(sys.argv[2]))
except Unavailable as error:
    print(error.message)
"""


def test_a_copy_that_cannot_be_written_is_not_blamed_on_the_database(
    data: Path, tmp_path: Path
) -> None:
    into = tmp_path / "absent" / FILE
    with pytest.raises(Unavailable) as caught:
        copy_sqlite_database(data / FILE, into)
    assert repr(str(into)) in caught.value.message
    assert str(data / FILE) not in caught.value.message
    with database(data) as opened, opened.write_transaction() as items:
        items.put("p", "large", "蟹" * 40_000)
    full = run_program(_LIMITED, data / FILE, tmp_path / "copy")
    assert repr(str(tmp_path / "copy")) in full.stdout
    assert str(data / FILE) not in full.stdout
