"""The upgrade of an installation's data to this release: what it did, and how it is asked for."""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from opencrab.ports.backup import IntegrityProblem


@dataclass(frozen=True)
class MigrationResult:
    """What a migration did, or would do; `was_done` if it had ended before."""

    name: str
    checked: int
    changed: int
    ended: bool
    was_done: bool = False


@dataclass(frozen=True)
class DataUpgrade:
    """What became of the data: the release that used it last, if known, and all migrations."""

    before: str | None
    release: str
    migrations: tuple[MigrationResult, ...]

    @property
    def ended(self) -> bool:
        """True if no migration is left."""
        return all(each.ended for each in self.migrations)

    @property
    def is_up_to_date(self) -> bool:
        """True if this release used the data last and every migration had ended before."""
        return self.before == self.release and all(each.was_done for each in self.migrations)

    @property
    def changed(self) -> int:
        """How many agents were changed, or would be, by migrations that had not ended before."""
        return sum(each.changed for each in self.migrations if not each.was_done)

    @property
    def is_from_newer_release(self) -> bool:
        """True if a newer release has used the data: this one keeps what it does not know."""
        return self.before is not None and _number(self.before) > _number(self.release)


@dataclass(frozen=True)
class FolderUpgrade:
    """The upgrade of a data folder; with `problems` nothing was upgraded.

    `backup` is the folder of the backup that was taken before, None if nothing was to be changed.
    """

    data: DataUpgrade | None
    backup: Path | None = None
    problems: tuple[IntegrityProblem, ...] = ()


class UpgradeFolder(Protocol):
    """A function that upgrades the data folder of a stopped installation.

    It checks the folder, backs it up into `backup`, migrates, and checks again; with `dry_run` it
    only says what would change. Raises NotFound without a database, Unavailable while OpenCrab runs
    on it.
    """

    def __call__(
        self, data: Path, backup: Path | None, /, *, dry_run: bool = False
    ) -> FolderUpgrade: ...


def _number(version: str) -> tuple[int, ...]:
    """Return a version as numbers; what follows them, such as `rc1`, does not count."""
    parts = version.split(".")
    return tuple(int("".join(takewhile(str.isdigit, part)) or 0) for part in parts)
