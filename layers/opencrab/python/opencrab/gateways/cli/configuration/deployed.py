"""Commands about the settings file of an installation on AWS: upload, show, list its versions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.configuration.faults import (
    deployed_settings_file,
    deployed_settings_of_terminal,
    print_settings_faults,
)
from opencrab.gateways.cli.configuration.opening import open_terminal_configuration
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencrab.ports.installation.configuration import ConfigurationFault
    from opencrab.ports.installation.deployed_settings import (
        DeployedSettingsFile,
    )

Stage = Annotated[str, cli_option("Stage of the deployment.", "STAGE")]
Version = Annotated[
    str | None, cli_option("A version that `opencrab config versions` lists.", "VERSION")
]


@cli_command
def push_settings(
    terminal: Terminal,
    file: Annotated[
        Path | None, cli_argument("Another file than your settings file.", "FILE")
    ] = None,
    stage: Stage = "main",
    version: Version = None,
) -> None:
    """Check a settings file and upload it to AWS, where it counts within a minute."""
    if version is not None and file is not None:
        raise typer.BadParameter(terminal.words("push_one"), param_hint="--version")
    settings = deployed_settings_of_terminal(terminal)
    if version is None:
        path = file or open_terminal_configuration(terminal).written
        name = str(path)
        content, faults = deployed_settings_file(terminal, path)
        _require_none(terminal, faults)
        found = settings.open(stage)
    else:
        found, name = settings.open(stage), version
        content = _content(terminal, found, version)
        language = str(terminal.options.language)
        _require_none(terminal, settings.faults(name, content, language))
    before = found.read()
    changed = before != content
    stored = found.replace(content) if changed else None
    view = {"place": found.place, "version": stored, "changed": changed}
    key = "pushed" if changed else "push_same"
    terminal.print_result(view, key, file=name, place=found.place, version=stored or "-")
    if changed:
        terminal.print_note("push_soon")


@cli_command
def pull_settings(terminal: Terminal, stage: Stage = "main", version: Version = None) -> None:
    """Print the settings file that counts on AWS, or an earlier version of it."""
    found = deployed_settings_of_terminal(terminal).open(stage)
    content = _content(terminal, found, version)
    if terminal.options.json:
        terminal.json({"place": found.place, "text": content.decode("utf-8", "replace")})
        return
    terminal.line(content.decode("utf-8", "replace").rstrip("\n"))


@cli_command
def list_settings_versions(terminal: Terminal, stage: Stage = "main") -> None:
    """List the versions of the settings file on AWS, the newest first."""
    found = deployed_settings_of_terminal(terminal).open(stage)
    views = [
        {
            "version": each.version_id,
            "at": each.at.isoformat(),
            "bytes": each.size,
            "current": each.is_current,
        }
        for each in found.versions()
    ]
    terminal.show_list(views, _draw_versions, "push_none", place=found.place)


def _require_none(terminal: Terminal, faults: "Sequence[ConfigurationFault]") -> None:
    if faults:
        print_settings_faults(terminal, faults)
        raise typer.Exit(ExitCode.FAILED)


def _content(terminal: Terminal, found: "DeployedSettingsFile", version: str | None) -> bytes:
    content = found.read(version)
    if content is None:
        raise NotFound(
            terminal.words("push_none", place=found.place), cure="opencrab config versions"
        )
    return content


def _draw_versions(terminal: Terminal, views: "list[dict[str, object]]") -> None:
    rows = [
        (
            each["version"],
            format_time_for_terminal(str(each["at"])),
            each["bytes"],
            terminal.words("push_current") if each["current"] else "",
        )
        for each in views
    ]
    terminal.table(("version", "published", "size", "status"), rows)
