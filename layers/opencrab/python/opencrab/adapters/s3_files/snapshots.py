"""Snapshots of indexes in the bucket: one object per agent, replaced by conditional writes.

S3 shows an object whole or not at all, so the newest version is the snapshot in force. The one
that it replaced is erased at once, unless the new one needs it: then it stays as an earlier version
of the same object. So nothing is stored that was not the newest once, and who removes an agent's
snapshots needs to know one key.
"""

import hashlib
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from opencrab.adapters.s3_files.bucket import (
    Bucket,
    ObjectHead,
    new_s3_object_version,
    s3_etag_of_version,
    s3_version_id,
)
from opencrab.domain.errors import Unavailable
from opencrab.domain.workspace.path import workspace_folder_of_agent
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import Snapshot

ROUNDS = 5
"""How often a removal begins anew when others publish at the same time."""


class S3Snapshots:
    """Snapshots in `search/<agent id>/index.db` of a bucket."""

    def __init__(self, client: Any, bucket: str, clock: Clock) -> None:
        self._bucket = Bucket(client, bucket)
        self._clock = clock

    def newest(self, agent_id: str) -> Snapshot | None:
        stored = self._bucket.head(_key(agent_id))
        return None if stored is None else _snapshot_from_metadata(agent_id, stored)

    def fetch(self, snapshot: Snapshot, into: Path) -> bool:
        key = _key(snapshot.agent_id)
        if not self._bucket.save(key, s3_version_id(snapshot.version), into):
            return False
        if (_hash(into), into.stat().st_size) == (snapshot.sha256, snapshot.size):
            return True
        into.unlink()
        return False

    def publish(
        self,
        agent_id: str,
        file: Path,
        *,
        rows: int,
        tokenizer: int,
        over: Snapshot | None,
        keeps: AbstractSet[str] = frozenset(),
    ) -> Snapshot | None:
        key, now, sha256 = _key(agent_id), self._clock.now(), _hash(file)
        condition = {"IfMatch": s3_etag_of_version(over.version)} if over else {"IfNoneMatch": "*"}
        notes = {"rows": str(rows), "tokenizer": str(tokenizer), "published-at": now.isoformat()}
        with file.open("rb") as content:
            made = self._bucket.put(key, content, sha256, condition, notes=notes)
        if made is None:
            return None
        if over is not None and over.version not in keeps:
            with suppress(Unavailable):
                # It was published; the bucket's rules remove sooner or later what stays here.
                self._bucket.erase(key, s3_version_id(over.version))
        size = file.stat().st_size
        return Snapshot(agent_id, made, sha256, size, rows, tokenizer, now)

    def remove_earlier(self, newest: Snapshot, keeps: AbstractSet[str] = frozenset()) -> bool:
        key, own = _key(newest.agent_id), s3_version_id(newest.version)
        kept = {own, *map(s3_version_id, keeps)}
        found = self._bucket.history(key)
        # Versions of one second have no order: all others are earlier only if this one is latest.
        if not found or found[-1].version_id != own or not found[-1].is_latest:
            return False
        for each in found:
            if each.version_id not in kept:
                self._bucket.erase(key, each.version_id)
        return True

    def remove(self, agent_id: str) -> None:
        key = _key(agent_id)
        for _ in range(ROUNDS):
            found = self._bucket.all_versions(key)
            if not found:
                return
            for version_id in found:
                self._bucket.erase(key, version_id)
        raise Unavailable(
            f"snapshots of agent {agent_id!r} are being published and removed at the same time",
            cure="try again in a few seconds",
        )


def _key(agent_id: str) -> str:
    return f"search/{workspace_folder_of_agent(agent_id)}/index.db"


def _snapshot_from_metadata(agent_id: str, stored: ObjectHead) -> Snapshot:
    """Parse a snapshot's metadata; without it, tokenizer 0, which is never used."""
    notes = stored.notes
    try:
        rows, tokenizer = int(notes["rows"]), int(notes["tokenizer"])
        published_at = datetime.fromisoformat(notes["published-at"])
    except (KeyError, ValueError):
        rows, tokenizer, published_at = 0, 0, datetime.fromisoformat("1970-01-01T00:00:00Z")
    return Snapshot(
        agent_id=agent_id,
        version=new_s3_object_version(stored.etag, stored.version_id),
        sha256=stored.sha256 or "",
        size=stored.size,
        rows=rows,
        tokenizer=tokenizer,
        published_at=published_at,
    )


def _hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
