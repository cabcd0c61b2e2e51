"""Commands about an agent's world: show it, bind an agent to one, trust it; and the demo world."""

from typing import Annotated, Any

import typer

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import AgentName, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.world.demo import run_demo_world

WorldView = dict[str, Any]

_DOUBTS = {"account": "world_doubt_account", "prices": "world_doubt_prices"}


@cli_command
def show_agent_world(terminal: Terminal, agent: AgentName) -> None:
    """Show an agent's place in its world: role, key, units, balance, prices, policy."""
    found = find_agent_for_terminal(terminal, agent)
    terminal.show(terminal.client.get("agents", found["id"], "world"), _draw_agent_world)


@cli_command
def bind_agent_to_world(
    terminal: Terminal,
    agent: AgentName,
    world: Annotated[str, cli_argument("The world's id.", "WORLD")],
    *,
    key: Annotated[
        list[str], typer.Option("--world-key", help="The world's public key; repeatable.")
    ],
    know: Annotated[
        list[str] | None,
        typer.Option(help="Read this first: file:PATH, memory:AGENT/ID or an address; repeatable."),
    ] = None,
    role: Annotated[
        str | None, cli_option("The agent's role in the world; default: that of its preset.")
    ] = None,
) -> None:
    """Bind an agent to a world, permanently."""
    found = find_agent_for_terminal(terminal, agent)
    role = role or found["identity"]["metadata"].get("world_role") or "GENERALIST"
    body: dict[str, Any] = {"world_id": world, "keys": list(key), "role": role.upper()}
    if know:
        body["seed_sources"] = list(know)
    bound = terminal.client.put("agents", found["id"], "world", body=body)
    terminal.print_result(bound, "world_bound", name=found["name"], key_id=bound["key_id"])
    for seed in [] if terminal.options.json else bound.get("seeds_read", []):
        terminal.print_sentence("seed_unread" if seed["problem"] else "seed_read", **seed)


@cli_command
def trust_world(
    terminal: Terminal,
    agent: AgentName,
    *,
    limit: Annotated[
        int | None, cli_option("Most cost a day, in the world's currency, without an approval.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask before each message again.")] = False,
) -> None:
    """Let an agent send messages to its world without asking, up to a cost a day."""
    if (limit is None) is not ask:
        raise Invalid(terminal.words("world_limit_needed"))
    found = find_agent_for_terminal(terminal, agent)
    body = {"trusted": not ask, "daily_limit": limit or 0}
    changed = terminal.client.put("agents", found["id"], "world", "policy", body=body)
    key = "world_asks" if ask else "world_trusted"
    terminal.print_result(changed, key, name=found["name"], limit=limit)


def _draw_agent_world(terminal: Terminal, world: WorldView) -> None:
    """Draw an agent's place in its world."""
    account, trust, doubt = world["account"] or {}, world["trust"], world["doubt"]
    heard = world["heard_at"]
    policy = terminal.words("world_policy_ask")
    if trust is not None:
        policy = terminal.words("world_policy_trusted", **trust)
    prices = ", ".join(f"{name} {price}" for name, price in sorted(world["prices"].items()))
    terminal.print_fields(
        (
            ("world", world["world_id"]),
            ("world_role", world["genome"]["role"]),
            ("world_key", world["key_id"]),
            ("world_period", f"{world['cycle']} ({_or_dash(world['units'])})"),
            ("world_balance", _or_dash(world["balance"])),
            ("world_reputation", _or_dash(world["reputation"])),
            ("world_entries", _or_dash(account.get("entry"))),
            ("world_prices", prices or "-"),
            ("world_policy", policy),
            ("world_heard", format_time_for_terminal(heard) if heard else "-"),
        )
    )
    if doubt is not None:
        terminal.print_sentence(_DOUBTS[doubt["kind"]], **doubt)


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


COMMANDS = {
    "show": show_agent_world,
    "bind": bind_agent_to_world,
    "trust": trust_world,
    "demo": run_demo_world,
}
