"""Exports: an agent's state and history as files, in the form that Avatar keeps them."""

import os
from pathlib import Path
from typing import Annotated

from opencrab.domain.errors import Conflict
from opencrab.gateways.cli.terminal.arguments import AnyAgent, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.files import file_error_for_terminal
from opencrab.gateways.cli.terminal.lookup import agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def export_insight_state(
    terminal: Terminal,
    agent: AnyAgent = None,
    directory: Annotated[Path, cli_option("The folder to write to.")] = Path("logs"),
) -> None:
    """Write an agent's state.json, and append new events to its events.jsonl."""
    from opencrab.gateways.cli.insight.export_files import (
        DamagedExport,
        HistoryFile,
        write_insight_state_file,
    )

    found = agent_named_on_terminal(terminal, agent)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        ledger = HistoryFile.open(directory, found["id"])
        state = write_insight_state_file(
            directory, terminal.client.get("agents", found["id"], "state")
        )
        count = 0
        place: str | None = ledger.place
        while True:
            text, following = terminal.client.json_lines(
                "agents", found["id"], "events", after=place
            )
            if text:
                count += ledger.add(text, following)
            if following == place:
                break
            place = following
    except DamagedExport as error:
        why = terminal.words("foreign_file", path=error.path)
        raise Conflict(why, cure=terminal.words("foreign_file_cure")) from error
    except OSError as error:
        raise file_error_for_terminal(terminal, error.filename or directory, error) from error
    told = {"state": os.fspath(state), "events": os.fspath(ledger.path), "count": count}
    terminal.print_result(told, "exported", **told)


COMMANDS = {"state": export_insight_state}
