"""What is wrong with a backup or a data folder: found by reading, with nothing changed."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from opencrab.adapters.backup.manifest import SEARCH_COPIES, BackupManifest
from opencrab.adapters.local_files.tree import (
    describe_local_file,
    local_files_below,
    local_files_open_to_others,
    local_links_and_devices,
)
from opencrab.adapters.sqlite.backup import blobs_of_sqlite_database, check_sqlite_database
from opencrab.adapters.sqlite.file import missing_sqlite_file_error
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import read_sqlite_marker
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.ports.backup import IntegrityProblem, VerifyReport

_VERSION = re.compile(r"[0-9a-f]{16}-[0-9a-f]{1,16}-([0-9a-f]{64})")
BEING_WRITTEN = (".writing", "blobs/.writing")
"""The folders of files that are being written, from the top. Elsewhere the name is anybody's."""


def check_backup(content: Path, manifest: BackupManifest) -> tuple[IntegrityProblem, ...]:
    """Compare a backup's files with its manifest, and look through its database."""
    problems = list(_differences(content, manifest))
    database = content / FILE
    if not database.is_file():
        return tuple(problems)
    try:
        found = check_sqlite_database(database, alone=True)
        if found != (manifest.database_id, manifest.commits):
            problems.append(IntegrityProblem("other_database", {"path": FILE}))
        problems += _blobs(content, alone=True)
    except OpenCrabError as error:
        problems.append(_problem_of_error(error))
    return tuple(problems)


def check_data_folder_for_backup(data: Path, *, secrets: Iterable[str]) -> VerifyReport:
    """Look through a data folder, whose process may run; `secrets` are for their owner alone."""
    problems: list[IntegrityProblem] = []
    commits = None
    try:
        if not (data / FILE).exists():
            raise _missing(data)
        found = check_sqlite_database(data / FILE)
        commits = None if found is None else found.commits
        problems += _blobs(data)
    except OpenCrabError as error:
        problems.append(_problem_of_error(error))
    files = [each for each in local_files_below(data) if _is_kept(each)]
    problems += _contents(data, files)
    problems += [
        IntegrityProblem("strange", {"path": path})
        for path in local_links_and_devices(data)
        if _is_kept(path)
    ]
    problems += [
        IntegrityProblem(
            "permissions", {"path": str(data / path), "mode": mode, "wanted": _mode(data / path)}
        )
        for path, mode in local_files_open_to_others(data, (FILE, *secrets))
    ]
    return VerifyReport(
        folder=data,
        is_backup=False,
        files=len(files),
        bytes=sum(_size(data / each) for each in files),
        commits=commits,
        problems=tuple(problems),
    )


def _differences(content: Path, manifest: BackupManifest) -> Iterator[IntegrityProblem]:
    named = {each.path: each for each in manifest.files}
    if FILE not in named:
        yield IntegrityProblem("missing", {"path": FILE})
    present = set(local_files_below(content))
    for path, entry in named.items():
        # A path through a link is not among those present.
        found = describe_local_file(content, path) if path in present else None
        if found is None:
            yield IntegrityProblem("missing", {"path": path})
        elif found != entry:
            yield IntegrityProblem("changed", {"path": path})
    for path in sorted({*present, *local_links_and_devices(content)} - named.keys()):
        yield IntegrityProblem("unknown", {"path": path})


def _blobs(data: Path, *, alone: bool = False) -> Iterator[IntegrityProblem]:
    """Yield blobs that the journal points to and that are not there."""
    for digest in sorted(blobs_of_sqlite_database(data / FILE, alone=alone)):
        path = f"blobs/{digest[:2]}/{digest[2:]}"
        if not (data / path).is_file():
            yield IntegrityProblem("blob_missing", {"path": path})


def _contents(data: Path, files: list[str]) -> Iterator[IntegrityProblem]:
    """Yield files whose name says a hash that their content does not have."""
    for path in files:
        expected = _named_hash(PurePosixPath(path))
        if expected is not None:
            found = describe_local_file(data, path)
            if found is not None and found.sha256 != expected:
                yield IntegrityProblem("content", {"path": path})


def _named_hash(path: PurePosixPath) -> str | None:
    parts = path.parts
    if parts[0] == "blobs" and len(parts) == 3:  # noqa: PLR2004 - blobs/ab/cdef...
        return parts[1] + parts[2]
    if len(parts) == 4 and parts[1] == "versions":  # noqa: PLR2004 - agent/versions/path/version
        found = _VERSION.fullmatch(parts[3])
        return None if found is None else found[1]
    return None


def is_within_backup_folders(path: str, folders: Iterable[str]) -> bool:
    """Check whether a path is one of these folders or below one."""
    place = PurePosixPath(path)
    return any(place.is_relative_to(folder) for folder in folders)


def _is_kept(path: str) -> bool:
    return not is_within_backup_folders(path, (SEARCH_COPIES, *BEING_WRITTEN))


def _missing(data: Path) -> Unavailable:
    marker = read_sqlite_marker(data / FILE)
    if marker is not None:
        return missing_sqlite_file_error(data / FILE, marker.commits)
    return Unavailable(
        f"there is no database file {str(data / FILE)!r}",
        cure="check the folder's name, or restore a backup with "
        "`opencrab admin restore DIR --data NEW`",
    )


def _problem_of_error(error: OpenCrabError) -> IntegrityProblem:
    return IntegrityProblem("database", {"path": FILE}, detail=error.message, cure=error.cure or "")


def _mode(path: Path) -> str:
    return "700" if path.is_dir() else "600"


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
