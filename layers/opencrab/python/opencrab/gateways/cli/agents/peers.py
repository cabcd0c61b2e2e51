"""Commands about other agents: which ones an agent may reach, and what they promised."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import AgentName, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text


class Reach(StrEnum):
    """Which agents a policy permits, without naming them: the domain's, slow to load."""

    OWNER = "owner"
    NOBODY = "nobody"


_POLICIES = {"owner": "peers_owner", "nobody": "peers_nobody", "listed": "peers_listed"}


@cli_command
def show_or_set_reach_of_agent(
    terminal: Terminal,
    agent: AgentName,
    *,
    reach: Annotated[
        Reach | None, cli_option("Let it meet all agents of the same owner, or nobody.")
    ] = None,
    only: Annotated[str | None, cli_option("Let it meet only these agents.", "NAME,NAME")] = None,
) -> None:
    """Show or set which other agents an agent may reach, and may be reached by."""
    if reach is not None and only is not None:
        raise typer.BadParameter(terminal.words("peers_either"), param_hint="--only")
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "peer-policy")
    if only is not None:
        names = [name.strip() for name in only.split(",") if name.strip()]
        ids = [find_agent_for_terminal(terminal, name)["id"] for name in names]
        policy = terminal.client.put(*place, body={"reach": "listed", "agents": ids})
    elif reach is not None:
        policy = terminal.client.put(*place, body={"reach": reach.value})
    else:
        policy = terminal.client.get(*place)
    if terminal.options.json:
        terminal.json(policy)
        return
    terminal.print_sentence(_POLICIES[policy["reach"]], name=found["name"])
    if not policy["in_reach"] and policy["reach"] != "nobody":
        terminal.print_sentence("peers_none")
    for each in policy["in_reach"]:
        terminal.line(f"- {clean_terminal_text(each['name'])}")


@cli_command
def list_promises(terminal: Terminal, agent: AgentName) -> None:
    """List the promises that an agent made and those made to it, with how code judged them."""
    found = find_agent_for_terminal(terminal, agent)
    promises = terminal.client.get("agents", found["id"], "promises")
    if terminal.options.json:
        terminal.json(promises)
        return
    if promises["made"]:
        names = {each["id"]: each["name"] for each in terminal.client.items("agents")}
        terminal.print_sentence("promises_made", name=found["name"])
        rows = [
            _promise_row(terminal, each, ", ".join(names.get(to, to) for to in each["to"]))
            for each in promises["made"]
        ]
        terminal.table(("promised_to", *_PROMISE_HEADS), rows)
    if promises["received"]:
        terminal.print_sentence("promises_received", name=found["name"])
        rows = [_promise_row(terminal, each, each["name"]) for each in promises["received"]]
        terminal.table(("agent", *_PROMISE_HEADS), rows)
    if not (promises["made"] or promises["received"]):
        terminal.print_sentence("promises_none", name=found["name"])


_PROMISE_HEADS = ("what", "deadline", "status", "reason")


def _promise_row(terminal: Terminal, promise: dict[str, Any], other: str) -> tuple[str, ...]:
    return (
        other,
        promise["what"],
        format_time_for_terminal(promise["due"]),
        terminal.words.term(promise["status"]),
        promise["reason"] or ", ".join(promise["evidence"]),
    )
