"""Commands about the tools of MCP servers: list the servers, ask one for its tools, trust them."""

import json
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import Yes, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import (
    ask_yes_or_no_on_terminal,
    require_terminal_user,
)
from opencrab.gateways.cli.terminal.terminal import Terminal

_PLACE = ("mcp", "servers")
_STATES = {
    "trusted": "mcp_trusted",
    "new": "mcp_new",
    "changed": "mcp_changed",
    "gone": "mcp_gone",
    "unusable": "mcp_unusable",
}

_SHOWN_APART = {"type", "properties"}
_WAITING = {"new", "changed"}
_NO_FINGERPRINT = "0" * 64
"""No tool has it: the server says itself what is wrong with the name."""

ToolView = dict[str, Any]
ServerName = Annotated[str, cli_argument("The MCP server's name.", "SERVER")]


@cli_command
def list_mcp_servers(terminal: Terminal) -> None:
    """List the MCP servers of the settings, and what is wrong with them."""
    found = terminal.client.get(*_PLACE)["items"]
    terminal.show_list(found, _draw_servers, "mcp_none")


@cli_command
def test_mcp_server(terminal: Terminal, server: ServerName) -> None:
    """Connect to an MCP server and list its tools, trusted and not."""
    found = terminal.client.get(*_PLACE, server, "tools")["items"]
    terminal.show_list(found, _draw_tools, "mcp_no_tools", name=server)
    if not terminal.options.json and any(each["state"] in _WAITING for each in found):
        terminal.print_note("mcp_trust_next", name=server)


@cli_command
def trust_mcp_tool(
    terminal: Terminal,
    server: ServerName,
    tool: Annotated[
        list[str] | None, cli_argument("A tool's name, as `mcp test` lists it.", "TOOL")
    ] = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Every tool that is new or changed.")
    ] = False,
    impact: Annotated[
        str, cli_option("What a call touches: external asks each time; read, self, shared.")
    ] = "external",
    effect: Annotated[
        str, cli_option("once: never repeated. pure: may run again after a crash.")
    ] = "once",
    shared: Annotated[
        bool, cli_option("Turns of other people may use it and read its results.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Show what a tool says of itself, and let agents use it."""
    if bool(tool) == every:
        raise typer.BadParameter(terminal.words("mcp_tool_or_all"), param_hint="TOOL, --all")
    if not yes:
        require_terminal_user(terminal, "mcp_read_first")
    listed = terminal.client.get(*_PLACE, server, "tools")["items"]
    waiting = [each["name"] for each in listed if each["state"] in _WAITING]
    rules = {"impact": impact, "effect": effect, "shared": shared}
    trusted = [
        _trust(terminal, server, each, rules)
        for each in _tools_named(listed, tool or waiting)
        if yes or _agrees(terminal, each, rules)
    ]
    if terminal.options.json:
        terminal.json(trusted)
    for each in () if terminal.options.json else trusted:
        terminal.print_sentence("mcp_now_trusted", tool=each["name"], action=each["action"])
    if every and not waiting:
        terminal.print_note("mcp_nothing_new", name=server)


def _tools_named(listed: list[ToolView], names: list[str]) -> list[ToolView]:
    """Return the tools of these names; one that is not listed is left to the server to refuse."""
    found = {each["name"]: each for each in listed}
    return [found.get(name, {"name": name, "state": "gone", "fingerprint": ""}) for name in names]


def _trust(terminal: Terminal, server: str, tool: ToolView, rules: dict[str, Any]) -> ToolView:
    """Trust a tool as it was shown."""
    body = {"fingerprint": tool["fingerprint"] or _NO_FINGERPRINT, **rules}
    found: ToolView = terminal.client.put(*_PLACE, server, "tools", tool["name"], body=body)
    return found


def _agrees(terminal: Terminal, tool: ToolView, rules: dict[str, Any]) -> bool:
    """Show what a tool says of itself, and ask whether agents may use it."""
    if tool["state"] == "gone":
        return True
    terminal.line()
    terminal.print_fields(
        [
            ("mcp_tool", tool["name"]),
            ("status", terminal.words(_STATES[tool["state"]])),
            ("description", tool["description"]),
            ("mcp_arguments", "\n".join(_argument_lines(tool["parameters"]))),
            ("mcp_hints", ", ".join(tool["hints"])),
            ("mcp_use", f"{rules['impact']}, {rules['effect']}"),
            ("problem", tool["problem"]),
        ],
        exact=True,
    )
    question = terminal.words("mcp_really_trust", name=tool["name"])
    agreed = ask_yes_or_no_on_terminal(question, default=False)
    if not agreed:
        terminal.print_sentence("unchanged", name=tool["name"])
    return agreed


def _argument_lines(parameters: dict[str, Any]) -> list[str]:
    """Return all that models read of a tool's arguments, a line for each argument."""
    around = {key: rule for key, rule in parameters.items() if key not in _SHOWN_APART}
    lines = [
        f"{name}: {json.dumps(rule, ensure_ascii=False)}" if rule else name
        for name, rule in parameters.get("properties", {}).items()
    ]
    return [*lines, json.dumps(around, ensure_ascii=False)] if around else lines


def _draw_servers(terminal: Terminal, servers: list[dict[str, Any]]) -> None:
    rows = [
        (
            each["name"],
            terminal.words("mcp_by_url" if each["kind"] == "url" else "mcp_by_command"),
            each["trusted"],
            ", ".join(each["agents"]) or terminal.words("mcp_every_agent"),
            _server_problem(terminal, each),
        )
        for each in servers
    ]
    terminal.table(("server", "kind", "mcp_trusted_tools", "agents", "problem"), rows)


def _server_problem(terminal: Terminal, server: dict[str, Any]) -> str:
    """Return what is wrong with a server, or what it waits for; a server of before says less."""
    if server["problem"]:
        return f"{server['problem']}: {server['cure']}"
    sign_in, name = server.get("sign_in") or {}, server["name"]
    if sign_in.get("state") == "needed":
        return terminal.words("mcp_needs_sign_in", name=name)
    if sign_in.get("state") == "more_scope":
        return terminal.words("mcp_needs_scope", name=name, scope=sign_in["wanted_scope"] or "?")
    return ""


def _draw_tools(terminal: Terminal, tools: list[dict[str, Any]]) -> None:
    rows = [
        (
            each["name"],
            terminal.words(_STATES[each["state"]]),
            f"{each['impact']}, {each['effect']}" if each["state"] == "trusted" else "",
            each["problem"] or each["description"],
        )
        for each in tools
    ]
    terminal.table(("mcp_tool", "status", "mcp_use", "description"), rows)
