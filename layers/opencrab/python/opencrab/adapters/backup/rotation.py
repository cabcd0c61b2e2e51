"""Scheduled backups: when the next one is due, where it goes, and which old ones go."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from opencrab.adapters.backup.manifest import MANIFEST
from opencrab.ports.backup import Backups, BackupSummary
from opencrab.ports.clock import Clock

_NAME = "opencrab-%Y%m%dT%H%M%SZ"
_UNFINISHED = re.compile(r"\.opencrab-[0-9]{8}T[0-9]{6}Z\.growing", re.ASCII)
_NAMED = re.compile(r"opencrab-[0-9]{8}T[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True)
class BackupRotation:
    """Backs a data folder up `every` so long into `folder`, and keeps the newest `keep`."""

    backups: Backups
    data: Path
    folder: Path
    every: timedelta
    keep: int
    clock: Clock
    with_secrets: bool = False

    def run_if_due(self) -> BackupSummary | None:
        """Back up if the newest backup is old enough, then remove the oldest; None if it is not.

        A backup from the future, by a clock that was set back, does not count.
        """
        now = self.clock.now()
        taken = [at for at, _ in self._complete() if at <= now]
        if taken and now - max(taken) < self.every:
            return None
        self._remove_unfinished()
        made = self.backups.back_up(
            self.data, self.folder / now.strftime(_NAME), with_secrets=self.with_secrets
        )
        self._prune(made.folder)
        return made

    def newest(self) -> tuple[datetime, Path] | None:
        """Return the newest complete backup that is not from the future, with its time."""
        now = self.clock.now()
        return max((each for each in self._complete() if each[0] <= now), default=None)

    def next_folder(self) -> Path:
        """Return the folder of a backup that is taken now."""
        return self.folder / self.clock.now().strftime(_NAME)

    def _remove_unfinished(self) -> None:
        """Remove what a process left that was killed during a scheduled backup."""
        if self.folder.is_dir():
            for place in self.folder.iterdir():
                if _UNFINISHED.fullmatch(place.name):
                    shutil.rmtree(place, ignore_errors=True)

    def _prune(self, newest: Path) -> None:
        """Remove complete backups beyond the newest, never the one just made."""
        for _, place in sorted(self._complete(), reverse=True)[self.keep :]:
            if place != newest:
                # The manifest first: half a backup is none.
                (place / MANIFEST).unlink(missing_ok=True)
                shutil.rmtree(place, ignore_errors=True)

    def _complete(self) -> Iterator[tuple[datetime, Path]]:
        """Yield the folder's complete backups, with their times."""
        if not self.folder.is_dir():
            return
        for place in self.folder.iterdir():
            if _NAMED.fullmatch(place.name) and (place / MANIFEST).is_file():
                yield datetime.strptime(place.name, _NAME).replace(tzinfo=UTC), place
