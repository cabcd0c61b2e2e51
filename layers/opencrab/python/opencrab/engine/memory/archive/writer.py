"""Writes an archive row by row: of sessions only the one that is written is in memory.

The same rows and time give the same bytes.
"""

import io
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import datetime
from types import TracebackType
from typing import IO, Self

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import TooLarge
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.value import Value
from opencrab.engine.memory.archive.file import MANIFEST, ArchiveManifest
from opencrab.engine.memory.archive.rows import KINDS, LINE, SESSION, archive_json

_COPIED_BYTES = 1 << 16


def memory_archive_member(kind: str) -> str:
    """Return the name of the archive member with the documents of a kind."""
    return f"{kind}.jsonl"


class ArchiveWriter:
    """A zip that rows are added to in the order of an export; it is complete once it is closed.

    `spool` opens what holds a session's text until it is written. Raises TooLarge when the zip
    exceeds `most` bytes.
    """

    def __init__(
        self,
        into: IO[bytes],
        agent_id: str,
        at: datetime,
        *,
        sessions: bool,
        most: int = 0,
        spool: Callable[[], IO[bytes]] = io.BytesIO,
    ) -> None:
        self._new_spool = spool
        self._into, self._agent_id, self._at, self._most = into, agent_id, at, most
        self._zip = zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED)
        self._stack = ExitStack()
        self._counts = dict.fromkeys(KINDS, 0) | ({SESSION: 0} if sessions else {})
        self._pending = list(KINDS)
        self._member: IO[bytes] | None = None
        self._memories = dict[str, list[str]]()
        self._sessions = self._spool()
        self._conversation = self._spool()
        self._session_id = ""
        self._has_documents = False

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
                return
        # What could not be written is not completed either.
        with suppress(OSError, ValueError):
            self._close()
            self._zip.close()

    def add(self, kind: str, value: Value) -> None:
        """Add a row; rows of a kind come together, and lines behind their session."""
        if isinstance(value, Session):
            self._begin_session(value)
        elif kind != LINE:
            self._begin_kind(kind)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        row = f"{archive_json(value)}\n".encode()
        if kind == SESSION:
            self._sessions.write(row)
        elif self._member is not None:
            self._member.write(row)
        if isinstance(value, Memory) and kind == MEMORY:
            self._memories.setdefault(value.category, []).append(_format_memory(value))
        if isinstance(value, Line):
            self._conversation.write(_format_line(value).encode())
        self._require_room()

    def _begin_kind(self, kind: str) -> None:
        """Begin the member of a kind, after those of the kinds before it."""
        while kind in self._pending:
            name = self._pending.pop(0)
            self._open(memory_archive_member(name))

    def _begin_session(self, session: Session) -> None:
        self._end_kinds()
        self._end_session()
        self._session_id = session.id
        title = session.name or session.theme or session.id
        self._conversation.write(f"# {title}\n".encode())
        self._open(f"sessions/{session.id}.jsonl")

    def _end_kinds(self) -> None:
        """Begin the members of the remaining kinds, and add the memories for reading; once."""
        if self._pending:
            self._begin_kind(self._pending[-1])
        if not self._has_documents:
            self._has_documents = True
            self._put("memories.md", "\n".join(self._memory_text()).encode())
            self._memories = {}

    def _memory_text(self) -> list[str]:
        rows = [f"# {self._agent_id}", ""]
        for category in sorted(self._memories):
            rows += [f"## {category}", "", *self._memories[category], ""]
        return rows

    def _end_session(self) -> None:
        self._close()
        if self._session_id:
            self._copy(self._conversation, f"sessions/{self._session_id}.md")
            self._conversation.seek(0)
            self._conversation.truncate()
        self._session_id = ""

    def _finish(self) -> None:
        self._end_kinds()
        self._end_session()
        if SESSION in self._counts:
            self._copy(self._sessions, memory_archive_member("sessions"))
        manifest = ArchiveManifest(agent_id=self._agent_id, exported_at=self._at, rows=self._counts)
        self._put(MANIFEST, manifest.model_dump_json().encode())
        self._require_room()

    def _open(self, name: str) -> None:
        self._close()
        at = self._at
        moment = (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)
        info = zipfile.ZipInfo(name, moment)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        self._member = self._zip.open(info, "w", force_zip64=not self._most)

    def _close(self) -> None:
        if self._member is not None:
            self._member.close()
        self._member = None

    def _put(self, name: str, content: bytes) -> None:
        self._open(name)
        if self._member is not None:
            self._member.write(content)
        self._close()

    def _copy(self, spool: IO[bytes], name: str) -> None:
        self._open(name)
        spool.seek(0)
        while self._member is not None and (content := spool.read(_COPIED_BYTES)):
            self._member.write(content)
        self._close()

    def _spool(self) -> IO[bytes]:
        return self._stack.enter_context(self._new_spool())

    def _require_room(self) -> None:
        if self._most and self._into.tell() > self._most:
            self._close()
            raise TooLarge(
                f"the archive is larger than {self._most} bytes",
                field="sessions",
                cure="export it with `opencrab memory export`, which has no limit; or omit the "
                "sessions, or export one session or a period at a time",
            )


def _format_memory(memory: Memory) -> str:
    """Format a memory as a line of Markdown."""
    return f"- {_one_line(memory.content)} ({memory.updated_at:%Y-%m-%d}, {memory.provenance})"


def _format_line(line: Line) -> str:
    """Format what was said as Markdown, empty for what nobody said."""
    if line.kind is LineKind.ACTION or not line.text:
        return ""
    speaker = f"\n**{_one_line(line.speaker_name)}** ({line.at:%Y-%m-%d %H:%M}):\n"
    return speaker + "".join(f"> {row}\n" for row in line.text.splitlines())


def _one_line(text: str) -> str:
    return " ".join(text.split())
