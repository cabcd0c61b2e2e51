"""Watching: an agent's five panes, live at a terminal, once as JSON Lines anywhere else."""

import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencrab.gateways.cli.command import command
from opencrab.gateways.cli.finding import named_or_only
from opencrab.gateways.cli.terminal import Terminal

if TYPE_CHECKING:
    from rich.console import Group

SECONDS = 1.0

PaneView = dict[str, Any]


@command
def watch(
    terminal: Terminal,
    agent: Annotated[
        str | None, typer.Argument(metavar="AGENT", help="An agent's id or name.")
    ] = None,
    *,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Unfold the goals of the plan into tasks.")
    ] = False,
) -> None:
    """Watch an agent live: chat, cli, plan, inspector and vitals."""
    found = named_or_only(terminal, agent)

    def look() -> list[PaneView]:
        items: list[PaneView] = terminal.client.get("agents", found["id"], "panes")["items"]
        return items

    if terminal.options.json or not terminal.out.isatty():
        for pane in look():
            terminal.json(pane)
        return
    _follow(terminal, str(found["name"]), look, unfolded=tasks)


def _follow(terminal: Terminal, name: str, look: Any, *, unfolded: bool) -> None:
    from rich.live import Live

    from opencrab.gateways.cli.pane import drawn

    def picture() -> "Group":
        return drawn(terminal, name, look(), unfolded=unfolded)

    pause = terminal.options.pause or threading.Event().wait
    try:
        with Live(
            picture(), console=terminal.console, auto_refresh=False, vertical_overflow="crop"
        ) as live:
            while True:
                pause(SECONDS)
                live.update(picture(), refresh=True)
    except KeyboardInterrupt:
        return
