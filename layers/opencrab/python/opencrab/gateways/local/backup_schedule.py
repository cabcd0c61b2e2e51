"""Takes scheduled backups in a thread of its own, so that no turn waits for one."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from opencrab.domain.errors import OpenCrabError

log = logging.getLogger(__name__)

FIRST_SECONDS = 2.0
LOOK_SECONDS = 60.0
RETRY_SECONDS = 900.0
_STOP_SECONDS = 10.0
_CURE = "read the server's log"


@dataclass(frozen=True)
class BackupFailure:
    """Why the last scheduled backup failed, and what to do about it."""

    at: datetime
    problem: str
    cure: str


class BackupSchedule:
    """One thread, within a block; `run_if_due` backs up when it is time, and else does nothing.

    It waits a little first, so that a start is not slower for it. `failure` is that of the last
    try, None if it went well.
    """

    failure: BackupFailure | None = None

    def __init__(
        self,
        run_if_due: Callable[[], object],
        *,
        now: Callable[[], datetime],
        first_seconds: float = FIRST_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._run_if_due = run_if_due
        self._now = now
        self._first_seconds = first_seconds
        self._look_seconds = look_seconds
        self._retry_seconds = retry_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backup", daemon=True)

    def __enter__(self) -> Self:
        """Begin in the background."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait a few seconds for a backup that is being made; half of one is removed later."""
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)

    def report(self) -> dict[str, Any]:
        """Return what the installation tells of its scheduled backups."""
        failed = self.failure
        if failed is None:
            return {"ok": True}
        at = failed.at.isoformat()
        return {"ok": False, "failed_at": at, "problem": failed.problem, "cure": failed.cure}

    def _run(self) -> None:
        self._stopping.wait(self._first_seconds)
        while not self._stopping.is_set():
            self._stopping.wait(self._look_seconds if self._try() else self._retry_seconds)

    def _try(self) -> bool:
        """Whether nothing went wrong."""
        try:
            self._run_if_due()
        except OpenCrabError as error:
            cure = f" ({error.cure})" if error.cure else ""
            log.warning("backup failed, retrying: error=%s%s", error.message, cure)
            self.failure = BackupFailure(self._now(), error.message, error.cure or _CURE)
            return False
        except Exception as error:
            log.exception("backup failed, retrying")
            self.failure = BackupFailure(self._now(), type(error).__name__, _CURE)
            return False
        self.failure = None
        return True
