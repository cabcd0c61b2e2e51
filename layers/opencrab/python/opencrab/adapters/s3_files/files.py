"""Workspaces in an S3 bucket: per agent, by path, with versions as conditions.

The objects are the truth; the ledger beside them bounds what they may become. Every write reads the
path's entry, then looks at the object, reserves, stores under the condition that the object is
still as seen, and settles under the condition that the entry is still as reserved. So no two
writers replace the same version, an object is never larger than what is counted for it, and a
repeat of a write that was cut off anywhere ends it.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from opencrab.adapters.s3_files.bucket import (
    Bucket,
    HistoryEntry,
    ObjectEntry,
    ObjectHead,
    new_s3_object_version,
    s3_etag_of_version,
    s3_version_id,
)
from opencrab.domain.errors import Invalid, NotFound, TooLarge, Unavailable
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.domain.workspace.path import (
    current_file_version_error,
    file_conflict_error,
    file_not_found_error,
    is_workspace_path,
    workspace_file_version_gone_error,
    workspace_folder_of_agent,
    workspace_folder_path,
    workspace_path,
)
from opencrab.ports.clock import Clock
from opencrab.ports.workspace.files import (
    ABSENT,
    DELETED_VERSIONS_KEPT,
    VERSIONS,
    FileInfo,
    FileVersion,
)
from opencrab.ports.workspace.ledger import LedgerEntry, WorkspaceLedger

ROUNDS = 5
"""How often a write begins anew when others change the same file at the same time."""

FOLDER_KEPT = timedelta(minutes=10)
"""How long it is remembered whether a folder has files, so that not every turn pays for a list."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Place:
    """A file's agent, path and object key."""

    agent_id: str
    path: str
    key: str


@dataclass(frozen=True)
class _Change:
    """A write; its token is the same for every retry."""

    content: bytes
    sha256: str
    condition: str | None
    clean: bool

    @property
    def token(self) -> str:
        return stable_id("write", self.sha256, self.condition or "")


class S3Files:
    """Workspaces in `agents/<agent id>/workspace/`.

    Lists show the present bucket, with the ledger's facts on each object that is unchanged since. A
    file that an operator uploads counts toward the quota once it is listed, written or recounted.
    The bucket's lifecycle rule ends versions, some days late: those of a file that was deleted
    `deleted_versions_kept` ago are not shown.
    """

    def __init__(
        self,
        client: Any,
        bucket: str,
        *,
        quota_bytes: int,
        file_bytes: int,
        ledger: WorkspaceLedger,
        clock: Clock,
        deleted_versions_kept: timedelta = DELETED_VERSIONS_KEPT,
    ) -> None:
        self._bucket = Bucket(client, bucket)
        self._quota_bytes = quota_bytes
        self._file_bytes = file_bytes
        self._ledger = ledger
        self._clock = clock
        self._deleted_versions_kept = deleted_versions_kept
        self._folders: dict[tuple[str, str], tuple[datetime, bool]] = {}

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        return self._look(_place(agent_id, path))

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        place = _place(agent_id, path)
        found = self._bucket.get(place.key, self._file_bytes)
        if found is None:
            raise self._missing(place)
        stored, content = found
        if content is None:
            raise _too_large(place.path, stored.size, self._file_bytes)
        sha256 = content_hash(content)
        if stored.sha256 not in {None, sha256}:
            raise Unavailable(
                f"file {place.path!r} is damaged: its content does not match its hash",
                cure=f"restore an earlier version of {place.key!r} in bucket "
                f"{self._bucket.name!r}, or delete it and write it again",
            )
        return _describe_file(place.path, stored, sha256), content

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        place = _place(agent_id, path)
        if len(content) > self._file_bytes:
            raise _too_large(place.path, len(content), self._file_bytes)
        change = _Change(content, content_hash(content), condition, clean)
        recounted = False
        for _ in range(ROUNDS):
            try:
                written = self._attempt(place, change)
            except Invalid:
                # What crashes left behind may be all that is in the way.
                if recounted:
                    raise
                self._recount(agent_id)
                recounted = True
                continue
            if written is not None:
                return written
        raise _busy(place.path)

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        prefix = workspace_folder_path(prefix)
        root = _root(agent_id)
        entries = {entry.path: entry for entry in self._ledger.entries(agent_id, prefix)}
        found = []
        for listed in self._bucket.listed(f"{root}{prefix}/" if prefix else root):
            path = listed.key.removeprefix(root)
            if is_workspace_path(path):
                entry = entries.get(path, LedgerEntry(path))
                known = entry.info if _is_still(entry, listed) else None
                info = known or self._adopted(_place(agent_id, path), entry)
                found += [replace(info, modified_at=listed.at)] if info else []
        if prefix and not found and self._bucket.head(root + prefix) is not None:
            raise Invalid(f"{prefix!r} is a file", field="path", cure="use a folder")
        return tuple(sorted(found, key=lambda info: info.path))

    def has_files(self, agent_id: str, prefix: str) -> bool:
        folder, now = workspace_folder_path(prefix), self._clock.now()
        looked_at, found = self._folders.get((agent_id, folder), (None, False))
        if looked_at is None or not now - FOLDER_KEPT < looked_at <= now:
            below = f"{_root(agent_id)}{folder}/"
            found = any(self._bucket.listed(below, at_most=1))
            self._folders[agent_id, folder] = (now, found)
        return found

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        place = _place(agent_id, path)
        for _ in range(ROUNDS):
            entry = self._ledger.entry(agent_id, place.path)
            stored = self._bucket.head(place.key)
            if stored is None:
                self._settle(place, entry, None)
                raise self._missing(place)
            if condition not in {None, new_s3_object_version(stored.etag, stored.version_id)}:
                raise file_conflict_error(place.path, is_gone=self._look(place) is None)
            if self._bucket.delete(place.key, stored.etag):
                self._settle(place, entry, None)
                return
        raise _busy(place.path)

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        key = _place(agent_id, path).key
        found = self._bucket.versions(key, VERSIONS)
        if not any(each.is_latest for each in found) and self._is_over(key):
            return ()
        return tuple(
            FileVersion(
                new_s3_object_version(each.etag, each.version_id),
                each.size,
                each.at,
                each.is_latest,
            )
            for each in found
        )

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        place, version_id = _place(agent_id, path), s3_version_id(version)
        found = self._bucket.get(place.key, self._file_bytes, version_id) if version_id else None
        if (
            found is None
            or found[0].etag != s3_etag_of_version(version)
            or self._is_over(place.key)
        ):
            raise workspace_file_version_gone_error(place.path, version)
        stored, content = found
        if content is None:
            raise _too_large(place.path, stored.size, self._file_bytes)
        return content

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        place = _place(agent_id, path)
        stored = self._bucket.history(place.key)
        is_deleted = bool(stored) and stored[-1].etag is None
        if version is not None:
            stored = [each for each in stored if _is_version(each, version)]
            if not stored:
                raise workspace_file_version_gone_error(place.path, version)
            if stored[0].is_latest:
                raise current_file_version_error(place.path, version)
        elif not is_deleted:
            stored = [each for each in stored if not each.is_latest]
        for each in stored:
            self._bucket.erase(place.key, each.version_id)
        return sum(each.etag is not None for each in stored)

    def _is_over(self, key: str) -> bool:
        """Check whether a file was deleted so long ago that its versions are not shown."""
        at = self._bucket.deleted_at(key)
        return at is not None and at + self._deleted_versions_kept <= self._clock.now()

    def _attempt(self, place: _Place, change: _Change) -> FileInfo | None:
        """Try one write and return the stored file; None if a concurrent write interfered."""
        entry = self._ledger.entry(place.agent_id, place.path)
        stored = self._look(place)
        if stored is not None and _is_same(stored, change):
            self._settle(place, entry, stored, change.token)
            return stored
        if change.condition not in {None, stored.version if stored else ABSENT}:
            self._settle(place, entry, stored, change.token)
            raise file_conflict_error(place.path, is_gone=stored is None)
        now = self._clock.now()
        wanted = entry.with_file_info(stored, now).with_reservation(
            change.token, len(change.content), now
        )
        reserved = self._ledger.save(place.agent_id, wanted, quota_bytes=self._quota_bytes)
        if reserved is None:
            return None
        over = {"IfMatch": s3_etag_of_version(stored.version)} if stored else {"IfNoneMatch": "*"}
        made = self._bucket.put(place.key, change.content, change.sha256, over, clean=change.clean)
        if made is None:
            return None
        info = FileInfo(place.path, len(change.content), change.sha256, made, change.clean)
        self._settle(place, reserved, info, change.token)
        return info

    def _settle(
        self, place: _Place, entry: LedgerEntry, stored: FileInfo | None, token: str = ""
    ) -> None:
        """Record a file's state in the ledger; `entry` was read before the state was.

        A failure is only logged, as the file itself is right: the next write of this file or the
        next recount corrects the ledger.
        """
        for key in [key for key in tuple(self._folders) if key[0] == place.agent_id]:
            self._folders.pop(key, None)
        try:
            for _ in range(ROUNDS):
                settled = entry.with_file_info(stored, self._clock.now()).without_reservation(token)
                if settled == entry or self._ledger.save(place.agent_id, settled) is not None:
                    return
                entry = self._ledger.entry(place.agent_id, place.path)
                stored = self._look(place)
        except (Unavailable, Invalid) as error:
            _log.warning(
                "cannot record file change in workspace ledger: agent_id=%s, path=%r, error=%s",
                *(place.agent_id, place.path, error.message),
            )

    def _adopted(self, place: _Place, entry: LedgerEntry) -> FileInfo | None:
        """Record a file that the ledger does not know in its present state, and return it."""
        stored = self._look(place)
        self._settle(place, entry, stored)
        return stored

    def _recount(self, agent_id: str) -> None:
        """Update all ledger entries of an agent to their objects, and end stale reservations."""
        root, now = _root(agent_id), self._clock.now()
        entries = {entry.path: entry for entry in self._ledger.entries(agent_id)}
        objects = {each.key.removeprefix(root): each for each in self._bucket.listed(root)}
        for path in sorted(entries.keys() | filter(is_workspace_path, objects)):
            entry, listed = entries.get(path, LedgerEntry(path)), objects.get(path)
            unchanged = entry.info if listed and _is_still(entry, listed) else None
            seen = entry.with_file_info(unchanged, now)
            if unchanged is None:
                seen = entry.with_size(listed.size if listed else None, now)
            if seen != entry:
                with suppress(Invalid):
                    self._ledger.save(agent_id, seen)

    def _look(self, place: _Place) -> FileInfo | None:
        """Return a file's info.

        Read the file if its metadata has no hash and it is not too large.
        """
        stored = self._bucket.head(place.key)
        if stored is None or stored.sha256 is not None or stored.size > self._file_bytes:
            return _describe_file(place.path, stored, stored.sha256 or "") if stored else None
        found = self._bucket.get(place.key, self._file_bytes)
        if found is None:
            return None
        stored, content = found
        return _describe_file(place.path, stored, "" if content is None else content_hash(content))

    def _missing(self, place: _Place) -> Invalid | NotFound:
        if any(self._bucket.listed(place.key + "/", at_most=1)):
            return Invalid(f"{place.path!r} is a folder", field="path", cure="use a file")
        return file_not_found_error(place.path)


def _place(agent_id: str, path: str) -> _Place:
    path = workspace_path(path)
    return _Place(agent_id, path, _root(agent_id) + path)


def _root(agent_id: str) -> str:
    return f"agents/{workspace_folder_of_agent(agent_id)}/workspace/"


def _describe_file(path: str, stored: ObjectHead, sha256: str) -> FileInfo:
    made = new_s3_object_version(stored.etag, stored.version_id)
    return FileInfo(path, stored.size, sha256, made, stored.clean and stored.sha256 == sha256)


def _is_same(stored: FileInfo, change: _Change) -> bool:
    return (stored.sha256, stored.size) == (change.sha256, len(change.content))


def _is_still(entry: LedgerEntry, listed: ObjectEntry) -> bool:
    """Check whether an object is unchanged since the ledger entry; every write changes the etag."""
    info = entry.info
    return info is not None and (info.size, s3_etag_of_version(info.version)) == (
        listed.size,
        listed.etag,
    )


def _is_version(entry: HistoryEntry, version: str) -> bool:
    return (entry.etag, entry.version_id) == (s3_etag_of_version(version), s3_version_id(version))


def _too_large(path: str, size: int, at_most: int) -> TooLarge:
    return TooLarge(
        f"file {path!r} has {size} bytes, at most {at_most} are allowed",
        field="content",
        cure="split it into several files",
    )


def _busy(path: str) -> Unavailable:
    return Unavailable(
        f"file {path!r} has too many concurrent writes; retries exhausted",
        cure="try again in a few seconds",
    )
