"""Commands about an agent's files: list, read, write, fetch, upload, delete, older versions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.workspace.path import STANDARD_FOLDERS, workspace_path, workspace_prefix
from opencrab.gateways.cli.terminal.arguments import AgentName
from opencrab.gateways.cli.terminal.command import command
from opencrab.gateways.cli.terminal.dates import moment
from opencrab.gateways.cli.terminal.input import agrees
from opencrab.gateways.cli.terminal.lookup import find_agent
from opencrab.gateways.cli.terminal.terminal import Terminal

FilePath = Annotated[
    str,
    typer.Argument(metavar="PATH", help="A path in the workspace, like notes/today.md."),
]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="VERSION", help="An older version of it.")
]


@command
def list_files(
    terminal: Terminal,
    agent: AgentName,
    folder: Annotated[str, typer.Argument(metavar="PATH", help="Only this folder.")] = "",
) -> None:
    """List an agent's files, or those in one folder."""
    place = ("agents", find_agent(terminal, agent)["id"], "workspace")
    prefix = workspace_prefix(folder)
    files = list(terminal.client.items(*place, prefix=prefix))
    if terminal.options.json:
        terminal.json(files)
    elif not files and prefix:
        terminal.say("no_files")
    else:
        rows = [(file["path"], f"{file['size']:,}") for file in files]
        rows += [] if prefix else [(f"{name}/", "") for name in STANDARD_FOLDERS]
        terminal.table(("path", "size"), sorted(rows))


@command
def read_file(
    terminal: Terminal, agent: AgentName, path: FilePath, *, version: VersionOption = None
) -> None:
    """Show a file's text."""
    content, found = terminal.client.download(*_place(terminal, agent, path), version=version)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            terminal.words("not_text", path=path, size=len(content)),
            cure=terminal.words("not_text_cure"),
        ) from error
    if terminal.options.json:
        terminal.json({"path": workspace_path(path), "version": found, "content": text})
    else:
        terminal.line(text.removesuffix("\n"))


@command
def write_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The whole text; without it standard input."),
    ] = None,
) -> None:
    """Write a text, or what comes through a pipe, as a file."""
    place = _place(terminal, agent, path)
    content = terminal.input.read() if text is None else text
    _upload(terminal, place, content.encode(errors="replace"))


@command
def get_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A file on this computer; if left out, of the same name, here.",
        ),
    ] = None,
    *,
    version: VersionOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that exists here.")
    ] = False,
) -> None:
    """Fetch a file as it is."""
    place = _place(terminal, agent, path)
    target = file or Path(place[-1])
    content, found = terminal.client.download(*place, version=version)
    try:
        with target.open("wb" if force else "xb") as opened:
            opened.write(content)
    except FileExistsError as error:
        raise Conflict(
            terminal.words("place_taken", place=target), cure=terminal.words("place_taken_cure")
        ) from error
    except OSError as error:
        raise _unusable(terminal, target, error) from error
    terminal.answer(
        {"path": workspace_path(path), "version": found, "file": str(target)},
        "file_fetched",
        path=path,
        place=target,
        size=len(content),
    )


@command
def put_file(
    terminal: Terminal,
    agent: AgentName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file on this computer.")],
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Its path in the workspace; if left out, its name."),
    ] = None,
) -> None:
    """Upload a file as it is."""
    place = _place(terminal, agent, file.name if path is None else path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise _unusable(terminal, file, error) from error
    _upload(terminal, place, content)


@command
def delete_file(
    terminal: Terminal,
    agent: AgentName,
    path: FilePath,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a file; its older versions stay for a while."""
    place = _place(terminal, agent, path)
    if not yes and not terminal.interactive:
        raise typer.BadParameter(terminal.words("delete_needs_yes"), param_hint="--yes")
    if not yes and not agrees(terminal.words("really_delete", path=path), default=False):
        terminal.say("file_untouched")
        return
    terminal.client.delete(*place)
    terminal.answer({"path": workspace_path(path)}, "file_deleted", path=path)


@command
def list_versions(terminal: Terminal, agent: AgentName, path: FilePath) -> None:
    """List what is kept of a file, the newest first."""
    place = _place(terminal, agent, path, "workspace-versions")
    versions: list[dict[str, Any]] = terminal.client.get(*place)["items"]
    if terminal.options.json:
        terminal.json(versions)
        return
    current = terminal.words("current_version")
    rows = [
        (
            each["version"],
            moment(each["at"]),
            f"{each['size']:,}",
            current if each["is_current"] else "",
        )
        for each in versions
    ]
    terminal.table(("version", "changed", "size", "status"), rows)


def _place(terminal: Terminal, agent: str, path: str, part: str = "workspace") -> tuple[str, ...]:
    """Where the server has a file; raises Invalid for what is no path, before anything is sent."""
    names = workspace_path(path).split("/")
    return ("agents", find_agent(terminal, agent)["id"], part, *names)


def _upload(terminal: Terminal, place: tuple[str, ...], content: bytes) -> None:
    written = terminal.client.upload(*place, content=content)
    terminal.answer(written, "file_written", path=written["path"], size=written["size"])


def _unusable(terminal: Terminal, file: Path, error: OSError) -> Invalid:
    return Invalid(
        terminal.words("no_place", place=file, why=error.strerror or error),
        cure=terminal.words("no_place_cure"),
    )
