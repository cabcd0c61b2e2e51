"""Whether a folder can be written, and what is left of its disk."""

import os
import shutil
import tempfile
from pathlib import Path

_PROBE_BYTES = 65_536
_PREFIX = ".opencrab-probe-"


def inspect_disk_by_write(folder: Path) -> None:
    """Write a file into a folder, to the disk, and remove it; raises OSError if that fails."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=folder)
    try:
        os.write(handle, bytes(_PROBE_BYTES))
        os.fsync(handle)
    finally:
        os.close(handle)
        os.unlink(name)  # noqa: PTH108 - its name is text


def inspect_free_disk_bytes(folder: Path) -> int:
    """Return how many bytes this user may still write to the disk of a folder."""
    return shutil.disk_usage(folder).free
