"""Commands that stop everything before its next step, or one agent, and let it go on."""

from typing import Annotated

import typer

from opencrab.domain.errors import NotFound
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

Frozen = Annotated[
    str | None,
    typer.Argument(
        metavar="AGENT",
        show_default=False,
        help="An agent's id or name; default: all agents.",
    ),
]
_ALL = {"all", "すべて"}
"""How people who are in a hurry name everybody."""


@cli_command
def freeze(terminal: Terminal, agent: Frozen = None) -> None:
    """Stop all agents, or one, before the next step, queued work included."""
    _turn(terminal, agent, "frozen")


@cli_command
def unfreeze(terminal: Terminal, agent: Frozen = None) -> None:
    """Unfreeze all agents, or one."""
    _turn(terminal, agent, "running")


def _turn(terminal: Terminal, agent: str | None, state: str) -> None:
    found = _find_agent_or_all(terminal, agent)
    which = {} if found is None else {"agent_id": found["id"]}
    switches = terminal.client.put("system", "state", body={"state": state, **which})
    if terminal.options.json:
        terminal.json(switches)
        return
    if found is None:
        terminal.print_sentence("all_frozen" if state == "frozen" else "all_unfrozen")
    else:
        terminal.print_sentence(
            "agent_frozen" if state == "frozen" else "agent_unfrozen", name=found["name"]
        )
    if state == "running" and switches["state"] == "frozen":
        terminal.print_sentence("still_frozen")
    elif found is None and state == "running" and switches["frozen_agents"]:
        _list_frozen_agents(terminal, switches["frozen_agents"])


def _list_frozen_agents(terminal: Terminal, frozen: list[str]) -> None:
    """Print the frozen agents, each with the command that unfreezes it, by name if it is unique."""
    agents = list(terminal.client.items("agents"))
    names = {agent["id"]: agent["name"] for agent in agents}
    living = [agent["name"] for agent in agents if agent["status"] != "retired"]
    for agent_id in frozen:
        name = names.get(agent_id, agent_id)
        wanted = name if name.isalnum() and living.count(name) == 1 else agent_id
        terminal.print_sentence("some_frozen", name=name, wanted=wanted)


def _find_agent_or_all(terminal: Terminal, wanted: str | None) -> AgentView | None:
    """Find the agent with this id or name; returns None for all of them."""
    if wanted is None:
        return None
    try:
        return find_agent_for_terminal(terminal, wanted)
    except NotFound:
        if wanted.strip().lower() in _ALL:
            return None
        raise
