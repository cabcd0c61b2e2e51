"""The command that lists actions: those that the owner wrote, or all."""

from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def list_actions(
    terminal: Terminal,
    *,
    every: Annotated[bool, typer.Option("--all", help="OpenCrab's own, too.")] = False,
) -> None:
    """List the actions that you wrote, with where they come from."""
    found = terminal.client.get("actions")["items"]
    shown = [each for each in found if every or each["origin"]]
    terminal.show_list(shown, _draw, "actions_none")


def _draw(terminal: Terminal, actions: list[dict[str, Any]]) -> None:
    rows = [
        (each["name"], each["impact"], each["effect"], each["origin"] or "OpenCrab")
        for each in actions
    ]
    terminal.table(("action", "impact", "effect", "from"), rows)
