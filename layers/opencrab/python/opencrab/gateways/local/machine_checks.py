"""The doctor's checks of this computer: data folder, disk, database, clock, queues, backups.

The same checks serve a running OpenCrab and one that does not start: they only read, apart from a
file that is written to see whether one can.
"""

import errno
import json
import stat
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.adapters.inspection import database
from opencrab.adapters.inspection.disk import inspect_disk_by_write, inspect_free_disk_bytes
from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings

if TYPE_CHECKING:
    from opencrab.adapters.backup.rotation import BackupRotation

LOW_BYTES = 200 * 2**20
"""With less free space than this the doctor warns: a day of work may need it."""

SLOW, STUCK = timedelta(seconds=60), timedelta(minutes=5)
"""How long the oldest message may wait for a worker."""

_MEBIBYTE = 2**20
_CLOCK_SLACK = timedelta(seconds=60)
_OVERDUE = timedelta(minutes=30)
"""How much later than due a backup may be: a retry comes after 15 minutes."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class MachineChecks:
    """The checks of one data folder; `write` and `free` are the disk."""

    data: Path
    now: Callable[[], datetime]
    rotation: "BackupRotation | None" = None
    write: Callable[[Path], None] = inspect_disk_by_write
    free: Callable[[Path], int] = inspect_free_disk_bytes

    def of_running(self, findings: Findings) -> Iterator[Check]:
        """Check the folder that this process serves."""
        yield from self._of_disk(findings)
        if (yield from self._of_database(findings)):
            yield from self._of_queues(findings)
            yield from self._of_dead_letters(findings)
        yield from self._of_backups(findings)

    def of_stopped(self, findings: Findings, url: str) -> Iterator[Check]:
        """Check the folder while nothing answers at `url`."""
        if not self.data.exists():
            yield findings.well("data", "data_new", path=self.data)
            return
        yield from self._of_disk(findings)
        pid = database.inspect_holding_process(self.data)
        if pid is not None:
            yield findings.problem("process", "held", pid=pid or "?", url=url)
        yield from self._of_owner_key(findings)
        yield from self._of_clock(findings)
        if (yield from self._of_database(findings)):
            yield from self._of_stopped_work(findings)
        yield from self._of_backups(findings)

    def _of_disk(self, findings: Findings) -> Iterator[Check]:
        free = 0
        try:
            free = self.free(self.data) // _MEBIBYTE
            self.write(self.data)
        except OSError as error:
            facts = {"path": self.data, "why": error.strerror or error}
            if error.errno in _FULL:
                yield findings.problem("disk", "disk_full", **facts, free=free)
            else:
                yield findings.problem("data", "data_unwritable", **facts)
            return
        yield findings.well("data", "data", path=self.data.resolve())
        if free * _MEBIBYTE < LOW_BYTES:
            yield findings.warning("disk", "disk_low", path=self.data, free=free)
        else:
            yield findings.well("disk", "disk", free=f"{free:,}")

    def _of_database(self, findings: Findings) -> Generator[Check, None, bool]:
        """Check the database; returns whether it can be read."""
        try:
            size = database.inspect_data_folder_database(self.data)
        except OpenCrabError as error:
            facts = {"why": error.message, "cure": error.cure or "-"}
            yield findings.problem("database", "database_wrong", **facts)
            return False
        if size is not None:
            yield findings.well("database", "database", mb=f"{size / _MEBIBYTE:.1f}")
        return size is not None

    def _of_queues(self, findings: Findings) -> Iterator[Check]:
        now, count, wrong = self.now(), 0, False
        for each in database.inspect_waiting_messages(self.data, now):
            count += each.count
            waits = now - each.since
            facts = {
                "queue": each.queue,
                "count": each.count,
                "seconds": round(waits.total_seconds()),
            }
            if waits > STUCK:
                yield findings.problem("queue", "queue_stuck", **facts)
            elif waits > SLOW:
                yield findings.warning("queue", "queue_slow", **facts)
            wrong = wrong or waits > SLOW
        if not wrong:
            yield findings.well("queue", "queue", count=count)

    def _of_dead_letters(self, findings: Findings) -> Iterator[Check]:
        letters = database.inspect_dead_letters(self.data)
        if letters:
            reason = str(json.loads(letters[0])[1])[:200]
            yield findings.warning(
                "dead_letters", "dead_letters", count=len(letters), why=reason or "-"
            )

    def _of_stopped_work(self, findings: Findings) -> Iterator[Check]:
        count = sum(each.count for each in database.inspect_waiting_messages(self.data, self.now()))
        due = database.inspect_timed_items(self.data)
        if count or due:
            yield findings.warning("queue", "queue_stopped", count=count, due=due)

    def _of_clock(self, findings: Findings) -> Iterator[Check]:
        last, now = database.inspect_last_alive_time(self.data), self.now()
        if last is not None and last - now > _CLOCK_SLACK:
            seconds = round((last - now).total_seconds())
            yield findings.problem("clock", "clock_back", seconds=seconds)

    def _of_owner_key(self, findings: Findings) -> Iterator[Check]:
        path = self.data / "owner.key"
        try:
            status = path.stat()
        except OSError:
            return
        if not status.st_size:
            yield findings.problem("owner_key", "owner_key_empty", path=path)
        elif status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield findings.warning("owner_key", "owner_key_open", path=path)
        else:
            yield findings.well("owner_key", "owner_key", path=path)

    def _of_backups(self, findings: Findings) -> Iterator[Check]:
        from opencrab.adapters.backup.manifest import read_backup_manifest  # noqa: PLC0415 - seldom needed

        rotation = self.rotation
        if rotation is None:
            yield findings.warning("backups", "backups_none")
            return
        following, found = rotation.next_folder(), rotation.newest()
        facts: dict[str, object] = {"folder": rotation.folder, "next": following}
        if found is None:
            yield findings.warning("backups", "backups_first", **facts)
            return
        at, place = found
        facts |= {"at": f"{at:%Y-%m-%d %H:%M} UTC", "every": rotation.every}
        try:
            read_backup_manifest(place)
        except Invalid as error:
            yield findings.problem("backups", "backups_damaged", **facts, why=error.message)
            return
        if self.now() - at > rotation.every + _OVERDUE:
            yield findings.problem("backups", "backups_overdue", **facts)
        else:
            yield findings.well("backups", "backups", **facts)
