"""The upgrade of a data folder after an update of OpenCrab; it asks no server."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.backup.backup import integrity_problem_sentences
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.ports.installation.data_upgrade import DataUpgrade, FolderUpgrade


_MIGRATIONS = {
    "first_heartbeats": "upgrade_first_heartbeats",
    "schedule_times": "upgrade_schedule_times",
}
"""The sentence for each migration that changed something."""


@cli_command
def upgrade_data_folder(
    terminal: Terminal,
    *,
    dry_run: Annotated[bool, cli_option("Only say what would be changed; change nothing.")] = False,
    backup: Annotated[
        Path | None,
        typer.Option("--backup", metavar="DIR", help="The new folder of the backup."),
    ] = None,
) -> None:
    """Bring the data folder to this version: check, back up, migrate, check again."""
    options = terminal.options
    if options.upgrade is None:
        raise Unavailable("upgrades are not installed", cure="install the full OpenCrab package")
    found = options.upgrade(options.data, backup, dry_run=dry_run)
    terminal.show(
        _upgrade_json(found, dry_run=dry_run),
        lambda shown, _: _draw(shown, found, dry_run=dry_run),
    )
    if found.problems:
        raise typer.Exit(1)


def _draw(terminal: Terminal, found: "FolderUpgrade", *, dry_run: bool) -> None:
    for problem in found.problems:
        detail, cure = integrity_problem_sentences(terminal, problem)
        terminal.line(f"✗ {detail}")
        terminal.line(f"  → {cure}")
    if found.data is None:
        terminal.print_sentence("upgrade_refused", folder=terminal.options.data)
        return
    if found.backup is not None:
        terminal.print_sentence("upgrade_backup", folder=found.backup)
    _draw_data(terminal, found.data, dry_run=dry_run)


def _draw_data(terminal: Terminal, data: "DataUpgrade", *, dry_run: bool) -> None:
    if data.is_from_newer_release:
        terminal.print_sentence("upgrade_newer", before=data.before, release=data.release)
    if data.is_up_to_date:
        terminal.print_sentence("upgrade_nothing", release=data.release)
        return
    for each in data.migrations:
        if each.changed and not each.was_done:
            terminal.print_sentence(_MIGRATIONS[each.name], count=each.changed, all=each.checked)
    key = "upgrade_dry" if dry_run else "upgrade_done"
    terminal.print_sentence(key, release=data.release, count=data.changed)


def _upgrade_json(found: "FolderUpgrade", *, dry_run: bool) -> dict[str, Any]:
    data = found.data
    return {
        "dry_run": dry_run,
        "before": None if data is None else data.before,
        "release": None if data is None else data.release,
        "changed": 0 if data is None else data.changed,
        "migrations": [] if data is None else [asdict(each) for each in data.migrations],
        "backup": None if found.backup is None else str(found.backup),
        "problems": [asdict(each) for each in found.problems],
    }
