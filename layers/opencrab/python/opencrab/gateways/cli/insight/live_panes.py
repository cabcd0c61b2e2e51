"""Watching: an agent's five panes live, once as JSON Lines in a pipe; or a session's events."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

from opencrab.gateways.cli.terminal.arguments import SESSIONS, AnyAgent, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from rich.console import Group

SECONDS = 1.0

_SESSION = "A session to watch; with an agent, its panes update as soon as something happens there."
_AFTER = "Start after this line; default: only new ones."
_THOUGHTS = "Include what agents think and do; needs an owner key."

PaneView = dict[str, Any]


@cli_command
def watch_insight_panes(
    terminal: Terminal,
    agent: AnyAgent = None,
    *,
    session: Annotated[str | None, cli_option(_SESSION, "ID"), SESSIONS] = None,
    after: Annotated[int | None, cli_option(_AFTER, min=0)] = None,
    thoughts: Annotated[bool, cli_option(_THOUGHTS)] = False,
    tasks: Annotated[bool, cli_option("Expand the plan's goals into tasks.")] = False,
) -> None:
    """Watch an agent live: chat, cli, plan, inspector and vitals; or a session."""
    from opencrab.gateways.cli.insight.session_watch import (
        insight_events_of_session,
        watch_insight_of_session,
    )

    if session is not None and agent is None:
        watch_insight_of_session(terminal, session, thoughts=thoughts, after=after)
        return
    found = agent_named_on_terminal(terminal, agent)

    def look() -> list[PaneView]:
        items: list[PaneView] = terminal.client.get("agents", found["id"], "panes")["items"]
        return items

    if terminal.options.json or not terminal.out.isatty():
        for pane in look():
            terminal.json(pane)
        return
    moments = (
        _moments(terminal) if session is None else insight_events_of_session(terminal, session)
    )
    _follow(terminal, str(found["name"]), look, moments, unfolded=tasks)


def _moments(terminal: Terminal) -> Iterator[object]:
    """Yield once a second, for each refresh."""
    pause = terminal.pause
    while True:
        pause(SECONDS)
        yield None


def _follow(
    terminal: Terminal, name: str, look: Any, moments: Iterable[object], *, unfolded: bool
) -> None:
    from rich.live import Live

    from opencrab.gateways.cli.insight.pane_view import render_panes

    def picture() -> "Group":
        return render_panes(terminal, name, look(), unfolded=unfolded)

    try:
        if not terminal.draws_in_place:
            terminal.draw(picture())
            for _ in moments:
                terminal.draw(picture())
            return
        with Live(
            picture(), console=terminal.console, auto_refresh=False, vertical_overflow="crop"
        ) as shown:
            for _ in moments:
                shown.update(picture(), refresh=True)
    except KeyboardInterrupt:
        return
