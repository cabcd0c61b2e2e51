"""The manifest of a backup: what belongs to it, with the size and hash of every file."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from opencrab.adapters.local_files.tree import FileEntry
from opencrab.adapters.sqlite.home import FILE
from opencrab.domain.errors import Invalid

FORMAT = 1
MANIFEST = "manifest.json"
MOST_BYTES = 256 * 2**20

SEARCH_COPIES = "search-copies"
_FIRST_SECRETS = frozenset({"owner.key", "secrets.json"})
SECRETS = _FIRST_SECRETS | {".env"}
"""Files that are copied by choice only; `.env` meant nothing once, and stands in older backups."""

OF_THE_PROCESS = frozenset({"endpoint", "secrets.json.lock", ".secrets", SEARCH_COPIES})
"""Names at the top of a data folder that belong to its process, and to no backup."""

_YEARS = range(2000, 3000)


@dataclass(frozen=True)
class BackupManifest:
    """A backup's files and when they were copied; `database_id` and `commits` of its database."""

    created_at: datetime
    version: str
    database_id: str
    commits: int
    with_secrets: bool
    files: tuple[FileEntry, ...]

    def document(self) -> bytes:
        """Return the manifest as JSON, with a hash of all the rest."""
        said: dict[str, Any] = {
            "format": FORMAT,
            "opencrab": self.version,
            "created_at": self.created_at.isoformat(),
            "database_id": self.database_id,
            "commits": self.commits,
            "with_secrets": self.with_secrets,
            "files": [asdict(each) for each in self.files],
        }
        said["sha256"] = _hash(said)
        return json.dumps(said, ensure_ascii=False, indent=1).encode()


def read_backup_manifest(folder: Path) -> BackupManifest:
    """Read a backup's manifest; raises Invalid if it is damaged or of a newer OpenCrab."""
    place = folder / MANIFEST
    try:
        if place.stat().st_size > MOST_BYTES:
            raise _damaged_manifest(place, "it is too large")
        said = json.loads(place.read_bytes())
        if not isinstance(said, dict) or said.pop("sha256") != _hash(said):
            raise _damaged_manifest(place, "its hash is wrong")
        if said["format"] != FORMAT:
            raise Invalid(
                f"backup {str(folder)!r} has format {said['format']}, this OpenCrab knows {FORMAT}",
                cure="use the newer OpenCrab that made it",
            )
        with_secrets = bool(said["with_secrets"])
        return BackupManifest(
            created_at=_moment(place, said["created_at"]),
            version=str(said["opencrab"]),
            database_id=str(said["database_id"]),
            commits=int(said["commits"]),
            with_secrets=with_secrets,
            files=_entries(place, said["files"], with_secrets=with_secrets),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged_manifest(place, str(error)) from error


def _moment(place: Path, text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or moment.year not in _YEARS:
        raise _damaged_manifest(place, f"its time {text!r} has no zone or is out of range")
    return moment.astimezone(UTC)


def _entries(
    place: Path, files: Iterable[dict[str, Any]], *, with_secrets: bool
) -> tuple[FileEntry, ...]:
    entries = tuple(
        FileEntry(str(each["path"]), int(each["size"]), str(each["sha256"])) for each in files
    )
    for each in entries:
        path = PurePosixPath(each.path)
        if path.is_absolute() or not path.parts or ".." in path.parts or str(path) != each.path:
            raise _damaged_manifest(place, f"it names a file {each.path!r}")
        if _is_foreign(path, with_secrets=with_secrets):
            raise _damaged_manifest(place, f"it names {each.path!r}, which no backup contains")
    return entries


def _is_foreign(path: PurePosixPath, *, with_secrets: bool) -> bool:
    """Check whether `back_up` never copies a file, such as a log that SQLite would apply."""
    # Some file systems ignore case.
    top = path.parts[0].casefold()
    beside = top.startswith(FILE) and str(path) != FILE
    return beside or top in OF_THE_PROCESS or (top in _FIRST_SECRETS and not with_secrets)


def _hash(said: dict[str, Any]) -> str:
    content = json.dumps(said, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def _damaged_manifest(place: Path, detail: str) -> Invalid:
    return Invalid(f"manifest {str(place)!r} is damaged: {detail}", cure="use another backup")
