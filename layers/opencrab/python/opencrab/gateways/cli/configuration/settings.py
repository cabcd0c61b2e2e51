"""The command that shows the settings that are in effect here, and where each comes from."""

import json
from typing import Annotated

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.configuration.opening import (
    open_terminal_configuration,
    setting_view_without_secrets,
)
from opencrab.gateways.cli.terminal.arguments import cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def show_configuration_in_effect(
    terminal: Terminal,
    name: Annotated[
        str, cli_argument("A setting or a section, such as llm.providers.", "NAME")
    ] = "",
) -> None:
    """Show the settings that `opencrab up` would use here, and where each comes from."""
    found = [
        setting_view_without_secrets(each)
        for each in open_terminal_configuration(terminal).settings()
        if not name or f"{each.name}.".startswith(f"{name.rstrip('.')}.")
    ]
    if not found:
        raise NotFound(
            terminal.words("no_setting", name=name), cure=terminal.words("no_setting_cure")
        )
    terminal.show(found, draw_settings_on_terminal)


def draw_settings_on_terminal(terminal: Terminal, found: list[dict[str, object]]) -> None:
    """Draw settings with their values and where each comes from."""
    rows = [
        (each["name"], json.dumps(each["value"], ensure_ascii=False, default=str), each["from"])
        for each in found
    ]
    terminal.table(("setting", "value", "from"), rows)
