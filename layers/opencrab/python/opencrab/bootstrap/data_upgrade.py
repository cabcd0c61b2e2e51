"""The upgrade of a data folder: when asked for, and when `opencrab up` meets another release."""

from pathlib import Path
from typing import TYPE_CHECKING

from opencrab import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencrab.ports.clock import Clock
    from opencrab.ports.home import Home
    from opencrab.ports.installation.data_upgrade import FolderUpgrade


def upgrade_local_data_folder(
    data: Path, backup: Path | None, /, *, dry_run: bool = False
) -> "FolderUpgrade":
    """Check a data folder, back it up, migrate its data and check it again."""
    from opencrab.adapters.backup.backups import FolderBackups
    from opencrab.adapters.local_files import AttachedFiles, LocalBlobs
    from opencrab.adapters.sqlite.home import open_sqlite_database, sqlite_home_on_database
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.engine.installation.data_migration import upgrade_data
    from opencrab.ports.installation.data_upgrade import FolderUpgrade

    clock = SystemClock()
    backups = FolderBackups(clock)
    # First, as it names a folder without a database, too, and opening one would make it.
    if problems := backups.verify(data).problems:
        return FolderUpgrade(None, problems=problems)
    database = open_sqlite_database(data)
    try:
        files = AttachedFiles(data, quota_bytes=0)
        home = sqlite_home_on_database(database, clock, files=files, blobs=LocalBlobs(data))
        found = upgrade_data(home, clock, __version__, dry_run=True)
        if dry_run or found.is_up_to_date:
            return FolderUpgrade(found)
        made = None
        if found.changed:
            made = backup or _backup_folder(data, clock)
            backups.back_up(data, made, with_secrets=True)
        done = upgrade_data(home, clock, __version__)
    finally:
        database.close()
    return FolderUpgrade(done, made, backups.verify(data).problems)


def _backup_folder(data: Path, clock: "Clock") -> Path:
    data = data.resolve()
    name = f"before-{__version__}-{clock.now():%Y%m%d-%H%M%S}"
    return data.with_name(f"{data.name}-backups") / name


def upgrade_data_at_local_start(
    home: "Home", clock: "Clock", say: "Callable[[str, str, str, int], object]"
) -> None:
    """Migrate the data if another release used it last, and say so.

    `say` is called with the key of a sentence, the release before, this one, and a count.

    That takes no backup: at a start only what is missing is added, and nothing is replaced.
    """
    from opencrab.engine.installation.data_release import is_data_of_release

    if is_data_of_release(home.facts, __version__):
        return
    from opencrab.engine.installation.data_migration import upgrade_data

    done = upgrade_data(home, clock, __version__)
    if done.is_from_newer_release:
        say("newer_data", done.before or "", done.release, done.changed)
    elif done.changed:
        say("upgraded_data", done.before or "0.1", done.release, done.changed)
