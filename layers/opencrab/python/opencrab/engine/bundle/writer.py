"""Writes a bundle: a zip whose members are named by kinds and hashes, never by an agent's paths.

The same rows, files and time give the same bytes.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from types import TracebackType
from typing import IO, Self

from opencrab.domain.bundle.contents import AGENT, DOCUMENTS, FILE
from opencrab.domain.bundle.manifest import BundleManifest, LeftOut
from opencrab.domain.identifier import content_hash

MANIFEST = "manifest.json"
SESSIONS = "sessions"

_COPIED_BYTES = 1 << 16
_LISTED_BYTES, _ENTRY_BYTES = 1 << 16, 80
"""How much of a manifest names what is left out: all of it must be readable as one row."""


def bundle_member(kind: str) -> str:
    """Return the name of the member with the rows of a kind."""
    return f"{kind}.jsonl"


def bundle_file_member(sha256: str) -> str:
    """Return the name of the member with a file's content."""
    return f"files/{sha256}"


BUNDLE_MEMBERS = tuple(map(bundle_member, (AGENT, *DOCUMENTS, FILE, SESSIONS)))


class BundleWriter:
    """A zip that rows and files are added to; it is complete once it is closed without an error.

    `spool` opens what holds the rows of a kind until the end.
    """

    def __init__(
        self,
        into: IO[bytes],
        *,
        at: datetime,
        source: str = "opencrab",
        agent_id: str = "",
        spool: Callable[[], IO[bytes]] = io.BytesIO,
    ) -> None:
        self._zip = zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED)
        self._at, self._source, self._agent_id = at, source, agent_id
        self._stack, self._new_spool = ExitStack(), spool
        self._spools = dict[str, IO[bytes]]()
        self._counts = dict[str, int]()
        self._left_out = dict[tuple[str, str], int]()
        self._contents = set[str]()
        self.manifest = BundleManifest(exported_at=at)
        """What was written at the end; before that only the time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        with self._stack:
            if kind is None:
                self._finish()
            self._zip.close()

    def add_row(self, kind: str, row: str) -> None:
        """Add a row, the JSON of one value; rows of a kind keep their order."""
        name = bundle_member(kind)
        if name not in self._spools:
            self._spools[name] = self._stack.enter_context(self._new_spool())
        self._spools[name].write(f"{row}\n".encode())
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def add_content(self, content: bytes) -> str:
        """Add the content of a file, once; return its hash, which a row of a file names."""
        sha256 = content_hash(content)
        if sha256 not in self._contents:
            self._contents.add(sha256)
            with self._zip.open(self._info(bundle_file_member(sha256)), "w") as member:
                member.write(content)
        return sha256

    def leave_out(self, what: str, why: str, count: int = 1) -> None:
        """Note in the manifest that something is not in the bundle."""
        self._left_out[what, why] = self._left_out.get((what, why), 0) + count

    def _finish(self) -> None:
        hashes = dict[str, str]()
        for name in BUNDLE_MEMBERS:
            if name in self._spools:
                hashes[name] = self._copy(self._spools[name], name)
        self.manifest = BundleManifest(
            source=self._source,
            agent_id=self._agent_id,
            exported_at=self._at,
            rows=dict(sorted(self._counts.items())),
            hashes=hashes,
            left_out=self._listed_left_out(),
        )
        with self._zip.open(self._info(MANIFEST), "w") as member:
            member.write(self.manifest.model_dump_json().encode())

    def _listed_left_out(self) -> tuple[LeftOut, ...]:
        """Return what is left out; of thousands the first by name, and the others by number."""
        listed, others, size = list[LeftOut](), dict[str, int](), 0
        for (what, why), count in sorted(self._left_out.items()):
            size += len(what.encode()) + _ENTRY_BYTES
            if size > _LISTED_BYTES:
                others[why] = others.get(why, 0) + count
            else:
                listed.append(LeftOut(what=what, why=why, count=count))
        rest = (LeftOut(what="…", why=why, count=count) for why, count in others.items())
        return (*listed, *rest)

    def _copy(self, spool: IO[bytes], name: str) -> str:
        digest = hashlib.sha256()
        spool.seek(0)
        with self._zip.open(self._info(name), "w", force_zip64=True) as member:
            while content := spool.read(_COPIED_BYTES):
                digest.update(content)
                member.write(content)
        return digest.hexdigest()

    def _info(self, name: str) -> zipfile.ZipInfo:
        at = self._at
        moment = (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)
        info = zipfile.ZipInfo(name, moment)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return info
