"""Commands about backups: take one while OpenCrab runs, restore it, check it or a data folder."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.ports.backup import Backups, BackupSummary, IntegrityProblem, VerifyReport

_MEBIBYTE = 2**20
_INTRODUCTIONS = {"backup": "aws_backup", "restore": "aws_restore", "verify": "aws_verify"}
_PROBLEMS = {
    "missing": "verify_missing",
    "changed": "verify_changed",
    "unknown": "verify_unknown",
    "other_database": "verify_other_database",
    "blob_missing": "verify_blob_missing",
    "content": "verify_content",
    "strange": "verify_strange",
    "permissions": "verify_permissions",
}
"""The sentence for each kind of problem; its cure lies beside it."""

Stage = Annotated[
    str | None,
    typer.Option(
        "--stage", metavar="STAGE", help="Print the commands for this stage on AWS instead."
    ),
]


@cli_command
def create_backup(
    terminal: Terminal,
    folder: Annotated[Path | None, cli_argument("A new folder for the backup.", "DIR")] = None,
    *,
    with_secrets: Annotated[
        bool, cli_option("Include the owner's key and the stored keys of providers.")
    ] = False,
    stage: Stage = None,
) -> None:
    """Back up all data into a new folder, while OpenCrab runs."""
    if stage is not None:
        _print_aws(terminal, "backup", stage, folder)
        return
    made = _backups(terminal).back_up(
        terminal.options.data, _require_folder(terminal, folder), with_secrets=with_secrets
    )
    facts = _facts(made)
    terminal.print_result(_summary_json(made), "backed_up", **facts)
    if not with_secrets and not terminal.options.json:
        terminal.print_sentence("backed_up_without_secrets")
    _print_attached(terminal, made, "backed_up_without_folders")


@cli_command
def restore(
    terminal: Terminal,
    folder: Annotated[Path | None, cli_argument("The folder of a backup.", "DIR")] = None,
    *,
    stage: Stage = None,
) -> None:
    """Restore a backup to a new data folder, named with --data."""
    if stage is not None:
        _print_aws(terminal, "restore", stage, folder)
        return
    data = terminal.options.data
    found = _backups(terminal).restore(_require_folder(terminal, folder), data)
    terminal.print_result(
        {**_summary_json(found), "data": str(data)}, "restored", data=data, **_facts(found)
    )
    _print_attached(terminal, found, "restored_without_folders")


@cli_command
def verify_backup_command(
    terminal: Terminal,
    folder: Annotated[
        Path | None, cli_argument("A backup or a data folder; without it, the data folder.", "DIR")
    ] = None,
    *,
    accept: Annotated[
        bool,
        cli_option("Accept that a data folder lost its newest changes; stop OpenCrab first."),
    ] = False,
    stage: Stage = None,
) -> None:
    """Check a backup or the data folder; exit with status 1 if something is wrong."""
    if stage is not None:
        _print_aws(terminal, "verify", stage, folder)
        return
    folder = folder or terminal.options.data
    if accept:
        lost = _backups(terminal).accept_loss(folder)
        key = "accepted_unknown" if lost is None else "accepted"
        terminal.print_result(
            {"data": str(folder), "lost_commits": lost}, key, data=folder, count=lost
        )
        return
    report = _backups(terminal).verify(folder)
    terminal.show(_report_json(report), lambda shown, _: _draw(shown, report))
    if report.problems:
        raise typer.Exit(1)


def _backups(terminal: Terminal) -> "Backups":
    if terminal.options.backups is None:
        raise Unavailable("backups are not installed", cure="install the full OpenCrab package")
    return terminal.options.backups()


def _require_folder(terminal: Terminal, folder: Path | None) -> Path:
    if folder is None:
        raise Invalid(terminal.words("no_folder"), cure=terminal.words("no_folder_cure"))
    return folder


def _print_aws(terminal: Terminal, verb: str, stage: str, folder: Path | None) -> None:
    from opencrab.gateways.cli.backup.aws_commands import aws_backup_commands

    commands = aws_backup_commands(verb, stage, str(folder or f"opencrab-{stage}-files"))
    if terminal.options.json:
        terminal.json({"stage": stage, "commands": commands.splitlines()})
        return
    terminal.print_note(_INTRODUCTIONS[verb], stage=stage)
    for line in commands.splitlines():
        terminal.line(line)


def _draw(terminal: Terminal, report: "VerifyReport") -> None:
    for problem in report.problems:
        detail, cure = integrity_problem_sentences(terminal, problem)
        terminal.line(f"✗ {detail}")
        terminal.line(f"  → {cure}")
    key = "verify_problems" if report.problems else "verify_sound"
    terminal.print_sentence(
        key,
        folder=report.folder,
        count=len(report.problems),
        files=f"{report.files:,}",
        size=_size(report.bytes),
    )


def integrity_problem_sentences(terminal: Terminal, problem: "IntegrityProblem") -> tuple[str, str]:
    """Return what is wrong, and what to do about it."""
    if problem.detail:
        return problem.detail, problem.cure
    name = _PROBLEMS[problem.kind]
    return terminal.words(name, **problem.facts), terminal.words(f"{name}_cure", **problem.facts)


def _report_json(report: "VerifyReport") -> dict[str, Any]:
    return {
        "folder": str(report.folder),
        "is_backup": report.is_backup,
        "files": report.files,
        "bytes": report.bytes,
        "commits": report.commits,
        "problems": [asdict(each) for each in report.problems],
    }


def _summary_json(made: "BackupSummary") -> dict[str, Any]:
    said = asdict(made)
    return {**said, "folder": str(made.folder), "created_at": made.created_at.isoformat()}


def _print_attached(terminal: Terminal, made: "BackupSummary", sentence: str) -> None:
    """Say which folders serve agents and are not in a backup."""
    if made.attached and not terminal.options.json:
        terminal.print_sentence(sentence, folders=", ".join(made.attached))


def _facts(made: "BackupSummary") -> dict[str, object]:
    return {
        "folder": made.folder,
        "files": f"{made.files:,}",
        "size": _size(made.bytes),
        "at": format_time_for_terminal(made.created_at.isoformat()),
    }


def _size(size: int) -> str:
    return f"{size / _MEBIBYTE:,.1f} MiB"
