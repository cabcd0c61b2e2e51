"""Backups of an installation on this machine: taken while it runs, restored elsewhere, checked."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class BackupSummary:
    """A complete backup: where it is, and what it holds."""

    folder: Path
    created_at: datetime
    files: int
    bytes: int
    commits: int
    with_secrets: bool
    attached: tuple[str, ...] = ()
    """Folders of the owner's computer that serve agents, and are not in the backup."""


@dataclass(frozen=True)
class IntegrityProblem:
    """Something that is wrong with a data folder or a backup.

    `kind` names a sentence, `facts` fill it in. `detail` and `cure` are those of an error that
    speaks for itself.
    """

    kind: str
    facts: dict[str, object] = field(default_factory=dict)
    detail: str = ""
    cure: str = ""


@dataclass(frozen=True)
class VerifyReport:
    """What was checked, and what is wrong with it; sound without problems."""

    folder: Path
    is_backup: bool
    files: int
    bytes: int
    commits: int | None
    problems: tuple[IntegrityProblem, ...]


class Backups(Protocol):
    """Takes, restores and checks backups of data folders."""

    def back_up(self, data: Path, into: Path, *, with_secrets: bool = False) -> BackupSummary:
        """Back up a data folder into a new folder, while OpenCrab runs on it or not.

        Raises NotFound without a database, Invalid for a folder that cannot be used, and
        DamagedDatabase: what is not sound is not backed up. The folder appears complete or not at
        all.
        """

    def restore(self, folder: Path, data: Path) -> BackupSummary:
        """Restore a backup to a data folder that does not exist or is empty.

        Everything is checked first. Raises Refused for a data folder with something in it, and
        Invalid for a backup that is not sound.
        """

    def verify(self, folder: Path) -> VerifyReport:
        """Check a data folder or a backup, without changing it; raises NotFound for neither."""

    def accept_loss(self, data: Path) -> int | None:
        """Accept that the newest commits of a stopped installation are lost.

        Returns how many were lost, None if that cannot be known. Raises DamagedDatabase for a
        database that is not sound, Unavailable while OpenCrab runs on the folder.
        """
