"""`ports.backup.Backups` on folders: what is copied in which order, and how it appears at once.

The order makes a copy that was taken under load as good as one after a crash. The search comes
first, since an index may lag behind its database and never leads it. Blobs are copied before the
database, for those that are erased meanwhile, and after it, for new ones. Workspaces come last, so
that no file is older than the journal says.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from opencrab import __version__
from opencrab.adapters.backup.checking import (
    BEING_WRITTEN,
    check_backup,
    check_data_folder_for_backup,
    is_within_backup_folders,
)
from opencrab.adapters.backup.manifest import (
    MANIFEST,
    OF_THE_PROCESS,
    SEARCH_COPIES,
    SECRETS,
    BackupManifest,
    read_backup_manifest,
)
from opencrab.adapters.local_files.attachments import read_local_attached_folders
from opencrab.adapters.local_files.disk import translate_disk_errors
from opencrab.adapters.local_files.tree import (
    FileEntry,
    copy_local_file,
    describe_local_file,
    local_files_below,
    sync_local_file_tree,
    sync_local_folder,
)
from opencrab.adapters.sqlite.backup import (
    accept_lost_sqlite_commits,
    copy_sqlite_database,
    finish_restored_sqlite_database,
)
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import sqlite_marker_path
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.ports.backup import BackupSummary, VerifyReport
from opencrab.ports.clock import Clock

CONTENT = "data"
"""The folder of a backup that holds what will be the data folder."""

_SEARCH, _BLOBS = "search", "blobs"
_GROWING = "growing-"


@dataclass
class _Copy:
    """A tree that is being copied."""

    source: Path
    target: Path
    files: dict[str, FileEntry] = field(default_factory=dict)

    def take(self, paths: Iterable[str]) -> None:
        """Copy files that were not copied yet."""
        for path in paths:
            if path not in self.files:
                found = copy_local_file(self.source, self.target, path)
                if found is not None:
                    self.files[path] = found


class FolderBackups:
    """Takes, restores and checks backups of data folders on this machine."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def back_up(self, data: Path, into: Path, *, with_secrets: bool = False) -> BackupSummary:
        database = data / FILE
        if not database.exists() and not sqlite_marker_path(database).exists():
            raise NotFound(
                f"there is no database in {str(data)!r}", cure="name the data folder with --data"
            )
        if into.resolve().is_relative_to(data.resolve()):
            raise Invalid(
                f"backup folder {str(into)!r} is inside the data folder",
                cure="choose a folder outside, best on another disk",
            )
        with translate_disk_errors(into.parent), _appearing(into) as growing:
            copy = _Copy(data, growing / CONTENT)
            copy.target.mkdir(mode=0o700)
            copy.take(
                each for each in local_files_below(data, below=_SEARCH) if not _is_growing(each)
            )
            copy.take(_sound(local_files_below(data, below=_BLOBS)))
            # What ended before is what a restart may judge: not how long the backup took.
            created_at = self._clock.now()
            commits = copy_sqlite_database(database, copy.target / FILE)
            described = describe_local_file(copy.target, FILE)
            if described is not None:
                copy.files[FILE] = described
            copy.take(_belonging(data, with_secrets=with_secrets))
            manifest = BackupManifest(
                created_at=created_at,
                version=__version__,
                database_id=commits.database_id,
                commits=commits.commits,
                with_secrets=with_secrets,
                files=tuple(sorted(copy.files.values(), key=lambda each: each.path)),
            )
            _write(growing / MANIFEST, manifest.document())
            attached = _folders_of_owner(copy.target)
        return _summary(into, manifest, attached)

    def restore(self, folder: Path, data: Path) -> BackupSummary:
        if not (folder / MANIFEST).is_file():
            raise _no_backup(folder)
        manifest = read_backup_manifest(folder)
        _refuse_full(data, cure="name a new folder with --data, or move this one away")
        problems = check_backup(folder / CONTENT, manifest)
        if problems:
            names = ", ".join(sorted({str(each.facts.get("path", FILE)) for each in problems})[:5])
            raise Invalid(
                f"backup {str(folder)!r} is damaged: {len(problems)} problems, in {names}",
                cure=f"list them with `opencrab admin verify {folder}`, and use another backup",
            )
        with translate_disk_errors(data.parent), _appearing(data) as growing:
            copy = _Copy(folder / CONTENT, growing)
            copy.take(each.path for each in manifest.files)
            if set(copy.files.values()) != set(manifest.files):
                raise Invalid(f"backup {str(folder)!r} changed while it was read", cure="try again")
            finish_restored_sqlite_database(growing / FILE, manifest.created_at)
            attached = _folders_of_owner(growing)
        return _summary(folder, manifest, attached)

    def verify(self, folder: Path) -> VerifyReport:
        if (folder / MANIFEST).is_file():
            manifest = read_backup_manifest(folder)
            return VerifyReport(
                folder=folder,
                is_backup=True,
                files=len(manifest.files),
                bytes=sum(each.size for each in manifest.files),
                commits=manifest.commits,
                problems=check_backup(folder / CONTENT, manifest),
            )
        if (folder / FILE).exists() or sqlite_marker_path(folder / FILE).exists():
            return check_data_folder_for_backup(folder, secrets=sorted(SECRETS))
        raise NotFound(
            f"{str(folder)!r} is neither a data folder nor a backup",
            cure="name the folder of a backup, or the data folder with --data",
        )

    def accept_loss(self, data: Path) -> int | None:
        if not (data / FILE).exists() and not sqlite_marker_path(data / FILE).exists():
            raise NotFound(
                f"there is no database in {str(data)!r}", cure="name the data folder with --data"
            )
        lost = accept_lost_sqlite_commits(data / FILE)
        # An index that leads its database would hide what comes in its place.
        for name in (_SEARCH, SEARCH_COPIES):
            shutil.rmtree(data / name, ignore_errors=True)
        return lost


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Make a folder that has its name only once everything in it is on the disk."""
    _refuse_full(folder, cure="choose another folder")
    folder = folder.absolute()
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    growing = folder.with_name(f".{folder.name}.growing")
    if growing.is_symlink():
        growing.unlink()
    shutil.rmtree(growing, ignore_errors=True)
    growing.mkdir(mode=0o700)
    try:
        yield growing
        sync_local_file_tree(growing)
        growing.replace(folder)
        sync_local_folder(folder.parent)
    except BaseException:
        shutil.rmtree(growing, ignore_errors=True)
        raise


def _refuse_full(folder: Path, *, cure: str) -> None:
    """Raise Refused unless a folder is empty or does not exist."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise Refused(f"{str(folder)!r} is a link, or not a folder", cure=cure)
    if folder.is_dir() and any(folder.iterdir()):
        raise Refused(f"folder {str(folder)!r} is not empty", cure=cure)


def _no_backup(folder: Path) -> NotFound:
    return NotFound(
        f"{str(folder)!r} is not a backup: it has no {MANIFEST!r}",
        cure="name a folder that `opencrab admin backup` made",
    )


def _sound(paths: Iterable[str]) -> Iterator[str]:
    """Leave out files that are being written."""
    return (each for each in paths if not is_within_backup_folders(each, BEING_WRITTEN))


def _is_growing(path: str) -> bool:
    """Check whether this is an index that is being written."""
    return PurePosixPath(path).name.startswith(_GROWING)


def _belonging(data: Path, *, with_secrets: bool) -> Iterator[str]:
    """Yield the files of a data folder that belong in its backup, but not the database's own."""
    for name in sorted(os.listdir(data)):  # noqa: PTH208 - names, not paths
        is_copied = name not in OF_THE_PROCESS and not name.startswith(FILE) and name != _SEARCH
        if is_copied and (with_secrets or name not in SECRETS):
            place = data / name
            if place.is_dir() and not place.is_symlink():
                yield from _sound(local_files_below(data, below=name))
            elif place.is_file() and not place.is_symlink():
                yield name


def _folders_of_owner(data: Path) -> tuple[str, ...]:
    """Return the folders of the owner that serve agents, which no backup holds."""
    return tuple(sorted({each.folder for each in read_local_attached_folders(data)}))


def _summary(
    folder: Path, manifest: BackupManifest, attached: tuple[str, ...] = ()
) -> BackupSummary:
    return BackupSummary(
        folder=folder,
        created_at=manifest.created_at,
        files=len(manifest.files),
        bytes=sum(each.size for each in manifest.files),
        commits=manifest.commits,
        with_secrets=manifest.with_secrets,
        attached=attached,
    )


def _write(place: Path, content: bytes) -> None:
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
