"""MiniStack with two patches, run by the emulator's own Python.

An updated function ends what it is doing, as on AWS: MiniStack ends its processes in the midst of
invocations. And what functions share is unpacked once: MiniStack unpacks the layers, thousands of
files, for each process, and removes them in the one thread that answers all requests, so that for
up to half a minute no service answers anybody.
"""

import hashlib
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

from ministack import app  # type: ignore[import-not-found]
from ministack.core import lambda_runtime  # type: ignore[import-not-found]

MOST_SECONDS = 900.0
"""How long AWS lets an invocation run."""

UNPACKED = "unpacked"
"""The folder of what was unpacked, below the one for scratch."""

_NEVER = threading.Event()
_lock = threading.Lock()
_end = lambda_runtime.kill_workers


class UnpackedOnce(zipfile.ZipFile):
    """A zip file whose content is linked to where it was unpacked first."""

    def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
        """Put a link in the place of the empty folder."""
        assert self.filename is not None
        assert path is not None
        digest = hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
        shared = Path(tempfile.gettempdir()) / UNPACKED / digest
        with _lock:
            if not shared.is_dir():
                super().extractall(shared)
        Path(path).rmdir()
        Path(path).symlink_to(shared)


def end_when_idle(workers: Any) -> None:
    """End processes of functions, beside everything else, each when its invocation is over."""
    for worker in workers:
        if worker is not None:
            threading.Thread(target=_end_one, args=(worker,), daemon=True).start()


def _end_one(worker: Any) -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while worker.in_use and time.monotonic() < deadline:
        _NEVER.wait(0.1)
    _end([worker])


if __name__ == "__main__":
    lambda_runtime.kill_workers = end_when_idle
    patched = type(zipfile)("zipfile")
    patched.__dict__.update(vars(zipfile) | {"ZipFile": UnpackedOnce})
    lambda_runtime.zipfile = patched
    app.main()
