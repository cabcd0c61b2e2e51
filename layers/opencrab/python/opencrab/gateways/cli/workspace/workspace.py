"""Commands about an agent's files: list, read, write, fetch, upload, delete, older versions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal import files
from opencrab.gateways.cli.terminal.arguments import AgentName, Force, Yes, cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.input import confirm_on_terminal, terminal_text_argument_or_pipe
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

FilePath = Annotated[
    str,
    typer.Argument(metavar="PATH", help="A path in the workspace, for example notes/today.md."),
]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="VERSION", help="An older version.")
]


@cli_command
def list_files(
    terminal: Terminal,
    agent: AgentName,
    folder: Annotated[str, cli_argument("Only this folder.", "PATH")] = "",
) -> None:
    """List an agent's files, or those in one folder."""
    from opencrab.domain.workspace.path import STANDARD_FOLDERS, workspace_folder_path

    place = ("agents", find_agent_for_terminal(terminal, agent)["id"], "workspace")
    prefix = workspace_folder_path(folder)
    found = list(terminal.client.items(*place, prefix=prefix))
    if terminal.options.json:
        terminal.json(found)
    elif not found and prefix:
        terminal.print_sentence("no_files")
    else:
        rows = [(file["path"], f"{file['size']:,}") for file in found]
        rows += [] if prefix else [(f"{name}/", "") for name in STANDARD_FOLDERS]
        terminal.table(("path", "size"), sorted(rows))


@cli_command
def read_file(
    terminal: Terminal, agent: AgentName, path: FilePath, *, version: VersionOption = None
) -> None:
    """Print a text file."""
    content, found = terminal.client.download(*_place(terminal, agent, path), version=version)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            terminal.words("not_text", path=path, size=len(content)),
            cure=terminal.words("not_text_cure"),
        ) from error
    if terminal.options.json:
        terminal.json({"path": _validate_path(path), "version": found, "content": text})
    else:
        terminal.line(text.removesuffix("\n"))


@cli_command
def write_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    text: Annotated[str | None, cli_argument("The text; default: standard input.", "TEXT")] = None,
) -> None:
    """Write a text, or piped input, to a file."""
    place = _place(terminal, agent, path)
    needed = "text_needed"
    content = terminal_text_argument_or_pipe(
        terminal, text, needed=needed, option="TEXT", empty=True
    )
    _upload(terminal, place, content.encode(errors="replace"))


@cli_command
def get_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    file: Annotated[
        Path | None,
        cli_argument(
            "A file on this computer; default: the same name, in the current folder.", "FILE"
        ),
    ] = None,
    *,
    version: VersionOption = None,
    force: Force = False,
) -> None:
    """Download a file."""
    place = _place(terminal, agent, path)
    target = file or Path(place[-1])
    content, found = terminal.client.download(*place, version=version)
    files.write_file_for_terminal(terminal, target, content, replace=force)
    terminal.print_result(
        {"path": _validate_path(path), "version": found, "file": str(target)},
        "file_fetched",
        path=path,
        place=target,
        size=len(content),
    )


@cli_command
def put_file(
    terminal: Terminal,
    agent: AgentName,
    file: Annotated[Path, cli_argument("A file on this computer.", "FILE")],
    path: Annotated[
        str | None, cli_argument("Its path in the workspace; default: its name.", "PATH")
    ] = None,
) -> None:
    """Upload a file."""
    place = _place(terminal, agent, file.name if path is None else path)
    _upload(terminal, place, files.read_file_for_terminal(terminal, file))


@cli_command
def delete_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    *,
    yes: Yes = False,
) -> None:
    """Delete a file; its older versions are kept for a while."""
    place = _place(terminal, agent, path)
    question = terminal.words("really_delete", path=path)
    if not confirm_on_terminal(terminal, question, yes=yes, needed="delete_needs_yes"):
        terminal.print_sentence("file_untouched")
        return
    terminal.client.delete(*place)
    terminal.print_result({"path": _validate_path(path)}, "file_deleted", path=path)


@cli_command
def list_workspace_file_versions(terminal: Terminal, agent: AgentName, path: FilePath) -> None:
    """List the versions of a file, newest first."""
    place = _place(terminal, agent, path, "workspace-versions")
    versions: list[dict[str, Any]] = terminal.client.get(*place)["items"]
    if terminal.options.json:
        terminal.json(versions)
        return
    current = terminal.words("current_version")
    rows = [
        (
            each["version"],
            format_time_for_terminal(each["at"]),
            f"{each['size']:,}",
            current if each["is_current"] else "",
        )
        for each in versions
    ]
    terminal.table(("version", "changed", "size", "status"), rows)


@cli_command
def delete_workspace_file_versions(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    *,
    version: VersionOption = None,
    yes: Yes = False,
) -> None:
    """Permanently delete the older versions of a file, also of a deleted one."""
    place = _place(terminal, agent, path, "workspace-versions")
    if version is None:
        question = terminal.words("really_delete_versions", path=path)
    else:
        question = terminal.words("really_delete_version", path=path, version=version)
    if not confirm_on_terminal(terminal, question, yes=yes, needed="delete_versions_needs_yes"):
        terminal.print_sentence("file_untouched")
        return
    deleted: dict[str, Any] = terminal.client.delete(*place, version=version)
    terminal.print_result(deleted, "versions_deleted", path=path, number=deleted["deleted"])


def _validate_path(path: str) -> str:
    """Return the normalised path in the workspace; raises Invalid."""
    from opencrab.domain.workspace.path import workspace_path

    return workspace_path(path)


def _place(terminal: Terminal, agent: str, path: str, part: str = "workspace") -> tuple[str, ...]:
    """Return the address of a file on the server; raises Invalid before any request."""
    names = _validate_path(path).split("/")
    return ("agents", find_agent_for_terminal(terminal, agent)["id"], part, *names)


def _upload(terminal: Terminal, place: tuple[str, ...], content: bytes) -> None:
    written = terminal.client.upload(*place, content=content)
    terminal.print_result(written, "file_written", path=written["path"], size=written["size"])
