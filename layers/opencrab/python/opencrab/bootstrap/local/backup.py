"""Backups of this machine's data folder: for the commands, and as the settings schedule them."""

import re
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.domain.errors import Invalid

if TYPE_CHECKING:
    from opencrab.adapters.backup.rotation import BackupRotation
    from opencrab.gateways.local.backup_schedule import BackupSchedule
    from opencrab.ports.backup import Backups
    from opencrab.ports.clock import Clock
    from opencrab.settings import Settings

_UNITS = {"m": 60, "h": 3_600, "d": 86_400}
_EVERY = re.compile(r"([1-9][0-9]{0,4})([mhd])", re.ASCII)
_LEAST_SECONDS = 600


def backups_of_local_installation() -> "Backups":
    """What takes, restores and checks backups here."""
    from opencrab.adapters.backup.backups import FolderBackups
    from opencrab.adapters.system_clock import SystemClock

    return FolderBackups(SystemClock())


def backup_interval_of_local_server(every: str) -> timedelta | None:
    """How long after a backup the next one is due; None without scheduled backups."""
    if not every.strip():
        return None
    found = _EVERY.fullmatch(every.strip())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if seconds < _LEAST_SECONDS:
        raise Invalid(
            f"setting 'backup.every' is {every!r}, which is not an interval of 10 minutes or more",
            field="backup.every",
            cure='set it to "1d", "12h" or "30m", or to "" for no scheduled backups',
        )
    return timedelta(seconds=seconds)


def scheduled_backups_of_local_server(
    configured: "Settings", data: Path, clock: "Clock"
) -> AbstractContextManager["BackupSchedule | None"]:
    """Within this block backups are taken as often as the settings say; None means never."""
    from opencrab.gateways.local.backup_schedule import BackupSchedule

    rotation = backup_rotation_of_local_server(configured, data, clock)
    return nullcontext() if rotation is None else BackupSchedule(rotation.run_if_due, now=clock.now)


def backup_rotation_of_local_server(
    configured: "Settings", data: Path, clock: "Clock"
) -> "BackupRotation | None":
    """Return the scheduled backups as configured; None means never."""
    every = backup_interval_of_local_server(str(configured.get("backup.every")))
    keep = int(configured.get("backup.keep"))
    if every is None:
        return None
    if keep < 1:
        raise Invalid(
            f"setting 'backup.keep' is {keep}", field="backup.keep", cure="set it to 1 or more"
        )
    from opencrab.adapters.backup.backups import FolderBackups
    from opencrab.adapters.backup.rotation import BackupRotation

    place = str(configured.get("backup.folder")).strip()
    data = data.resolve()
    return BackupRotation(
        backups=FolderBackups(clock),
        data=data,
        folder=Path(place).expanduser() if place else data.with_name(f"{data.name}-backups"),
        every=every,
        keep=keep,
        clock=clock,
        with_secrets=bool(configured.get("backup.with_secrets")),
    )
