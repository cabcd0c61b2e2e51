"""Export of an agent's memory and sessions as a zip archive.

Lines of sessions are exported for people and other programs. They are not imported again: a journal
records what happened here, and nothing else may be written into it.
"""

import io

from opencrab.engine.memory.archive.file import ARCHIVE_BYTES
from opencrab.engine.memory.archive.rows import KINDS, ExportSelection, archive_rows
from opencrab.engine.memory.archive.writer import ArchiveWriter, memory_archive_member
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home

__all__ = ["KINDS", "ExportSelection", "export_memory_archive", "memory_archive_member"]


def export_memory_archive(
    home: Home, clock: Clock, agent_id: str, wanted: ExportSelection
) -> bytes:
    """Export an agent's memory and the selected sessions as the bytes of a zip.

    Raises NotFound, Invalid, and TooLarge as soon as the archive exceeds the request limit.
    """
    rows = archive_rows(home, agent_id, wanted)
    buffer = io.BytesIO()
    with ArchiveWriter(
        buffer, agent_id, clock.now(), sessions=wanted.sessions, most=ARCHIVE_BYTES
    ) as archive:
        for kind, value, _ in rows:
            archive.add(kind, value)
    return buffer.getvalue()
