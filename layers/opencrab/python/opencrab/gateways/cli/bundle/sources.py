"""Command that imports an agent from elsewhere: its source becomes a bundle, which is imported."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Annotated

import typer

from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.files import file_error_for_terminal
from opencrab.gateways.cli.terminal.lookup import require_unused_name_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_HELD_BYTES = 8 << 20
_SOURCES = (
    "character-card, openclaw, chatgpt, claude, letta, hermes, obsidian, opencrab-plan or avatar."
)


@cli_command
def import_from_source(
    terminal: Terminal,
    source: Annotated[str, cli_argument(_SOURCES, "SOURCE")],
    path: Annotated[Path, cli_argument("Its file, zip or folder.", "PATH")],
    *,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for the agent.")
    ] = None,
    yes: Annotated[
        bool, cli_option("Import it; without this, only show what becomes what.")
    ] = False,
    undo: Annotated[bool, cli_option("Remove what an interrupted import of it left.")] = False,
) -> None:
    """Import an agent or conversations of another program, as untrusted."""
    from opencrab.domain.value import Language
    from opencrab.engine.bundle.from_source import write_found_agent
    from opencrab.engine.bundle.sources import read_source
    from opencrab.gateways.cli.bundle import sending
    from opencrab.gateways.cli.bundle.plan import draw_import_plan, plan_bundle_import
    from opencrab.gateways.cli.bundle.source_files import open_source

    try:
        files, changed = open_source(path), path.stat().st_mtime
        found = read_source(source, files, Language(terminal.words.tongue))
    except OSError as error:
        raise file_error_for_terminal(terminal, path, error) from error
    found.name = name or found.name
    with SpooledTemporaryFile(_HELD_BYTES) as spooled:
        # The source's own time: the same source is the same bundle, which can be continued.
        write_found_agent(found, spooled, datetime.fromtimestamp(changed, UTC))
        bundle = sending.check_bundle(spooled)
        if undo:
            sending.undo_bundle_import(terminal, bundle)
            return
        wanted = bundle.reader.agent.name
        if sending.unfinished_bundle_import(terminal, bundle, name=wanted, trusted=False) is None:
            require_unused_name_for_terminal(terminal, wanted)
        plan = plan_bundle_import(terminal, bundle, name=wanted, trusted=False)
        if not yes:
            terminal.show(plan, draw_import_plan)
            terminal.print_note("import_dry")
            return
        made = sending.send_bundle(terminal, bundle, name=wanted, trusted=False)
    terminal.print_result(made | {"plan": plan}, "bundle_imported", **made)
    if not (terminal.options.json or terminal.options.quiet):
        draw_import_plan(terminal, plan)
        terminal.print_sentence("bundle_untrusted", **made)
