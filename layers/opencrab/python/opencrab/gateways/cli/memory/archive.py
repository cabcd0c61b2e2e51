"""Commands that carry an agent's memory away as a zip, and bring one in."""

from pathlib import Path
from typing import Annotated

from opencrab.domain.errors import TooLarge
from opencrab.gateways.cli.memory.search import Agent, Since, Until
from opencrab.gateways.cli.terminal.arguments import SESSIONS, Force, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import parse_terminal_time
from opencrab.gateways.cli.terminal.files import read_file_for_terminal
from opencrab.gateways.cli.terminal.lookup import agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def export_memory(
    terminal: Terminal,
    file: Annotated[
        Path | None, cli_argument("The file to write; default: AGENT-memory.zip.", "FILE")
    ] = None,
    agent: Agent = None,
    *,
    kept: Annotated[bool, cli_option("Only saved memories, without conversations.")] = False,
    session: Annotated[
        str | None, cli_option("Only this conversation.", "SESSION"), SESSIONS
    ] = None,
    since: Since = None,
    until: Until = None,
    force: Force = False,
) -> None:
    """Export an agent's memory as a zip file."""
    from opencrab.gateways.cli.memory.archive_file import write_memory_archive
    from opencrab.gateways.cli.terminal.files import new_file_for_terminal

    found = agent_named_on_terminal(terminal, agent)
    target = file or Path(f"{found['id']}-memory.zip")
    query = {
        "sessions": "false" if kept else None,
        "session_id": session,
        "since": parse_terminal_time(terminal, "--since", since),
        "until": parse_terminal_time(terminal, "--until", until, whole_day=True),
    }
    with new_file_for_terminal(terminal, target, replace=force) as opened:
        write_memory_archive(terminal, found["id"], opened, query, sessions=not kept)
        size = opened.tell()
    terminal.print_result(
        {"file": str(target), "size": size}, "memory_exported", place=target, size=size
    )


@cli_command
def import_memory(
    terminal: Terminal,
    file: Annotated[Path, cli_argument("An exported zip file.", "FILE")],
    agent: Agent = None,
    *,
    trust: Annotated[bool, cli_option("Import it as trusted: it is my own export.")] = False,
) -> None:
    """Import memories, experiences, impressions and knowledge from a zip file."""
    from opencrab.engine.memory.archive.file import ARCHIVE_BYTES

    found = agent_named_on_terminal(terminal, agent)
    content = read_file_for_terminal(terminal, file, ARCHIVE_BYTES + 1)
    if len(content) > ARCHIVE_BYTES:
        raise TooLarge(
            terminal.words("archive_too_large", place=file, most=ARCHIVE_BYTES),
            cure=terminal.words("archive_too_large_cure"),
        )
    report = terminal.client.upload(
        *("agents", found["id"], "memory", "import"),
        content=content,
        method="POST",
        trust="true" if trust else None,
    )
    if terminal.options.json:
        terminal.json(report)
        return
    totals = {name: sum(counts.values()) for name, counts in report.items()}
    terminal.print_sentence("memory_imported", **totals)
    if not trust:
        terminal.print_sentence("memory_untrusted")
