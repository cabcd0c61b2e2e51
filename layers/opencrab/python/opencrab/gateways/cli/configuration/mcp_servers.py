"""Commands that write MCP servers to the settings files of this computer, and take them out."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

import typer

from opencrab.domain.errors import Conflict, Invalid, NotFound, OpenCrabError
from opencrab.gateways.cli.configuration.opening import open_terminal_configuration
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration

_SECTION = "mcp.servers"

McpServer = Annotated[str, cli_argument("The MCP server's name, such as files.", "SERVER")]


@cli_command
def add_mcp_server(
    terminal: Terminal,
    name: McpServer,
    command: Annotated[
        list[str] | None,
        cli_argument("Command that runs it on this computer; write -- before it.", "COMMAND"),
    ] = None,
    *,
    url: Annotated[str | None, cli_option("Its address, if it is not a command.", "URL")] = None,
    openapi: Annotated[
        str | None,
        cli_option("OpenAPI description of an HTTP API: its address, or a file.", "URL"),
    ] = None,
    env: Annotated[
        list[str] | None,
        cli_option("Variable for the command; a secret as NAME='${SECRET}'.", "NAME=VALUE"),
    ] = None,
    header: Annotated[
        list[str] | None,
        cli_option("Header with a secret: Authorization='Bearer ${TOKEN}'.", "NAME=VALUE"),
    ] = None,
    agent: Annotated[
        list[str] | None, cli_option("Agent that has its tools; default: every one.", "AGENT")
    ] = None,
) -> None:
    """Add an MCP server to the settings; none of its tools is trusted yet."""
    configuration = open_terminal_configuration(terminal)
    if name in mcp_server_names_in(configuration):
        raise Conflict(terminal.words("mcp_exists", name=name), cure=f"opencrab mcp remove {name}")
    if bool(command) == bool(url or openapi):
        raise typer.BadParameter(terminal.words("mcp_command_or_url"), param_hint="COMMAND, --url")
    place = f"{_SECTION}.{name}"
    where = {"url": url, "openapi": openapi} if not command else {"command": command[0]}
    lists = {"args": (command or [])[1:], "agents": agent}
    texts: dict[str, str | None] = {
        f"{place}.{key}": value for key, value in where.items() if value
    }
    texts |= {
        f"{place}.{key}": json.dumps(names, ensure_ascii=False)
        for key, names in lists.items()
        if names
    }
    for table, pairs in (("env", env), ("headers", header)):
        for key, value in _pairs(terminal, table, pairs).items():
            texts[f"{place}.{table}.{key}"] = value
    configuration.change(texts)
    file = str(configuration.written)
    terminal.print_result({"name": name, "file": file}, "mcp_added", name=name, file=file)
    terminal.print_note("mcp_try", name=name)


@cli_command
def add_peer_elsewhere(
    terminal: Terminal,
    name: Annotated[str, cli_argument("A name for the agent, such as tides.", "NAME")],
    *,
    a2a: Annotated[
        str, cli_option("Address of its A2A agent card, or of the host that has one.", "URL")
    ],
    header: Annotated[
        list[str] | None,
        cli_option("Header with a secret: Authorization='Bearer ${TOKEN}'.", "NAME=VALUE"),
    ] = None,
    agent: Annotated[
        list[str] | None, cli_option("Agent that may ask it; default: every one.", "AGENT")
    ] = None,
) -> None:
    """Add an agent of another installation; no agent asks it before you trust its card."""
    configuration = open_terminal_configuration(terminal)
    if name in mcp_server_names_in(configuration):
        raise Conflict(terminal.words("mcp_exists", name=name), cure=f"opencrab mcp remove {name}")
    place = f"{_SECTION}.{name}"
    texts: dict[str, str | None] = {f"{place}.a2a": a2a}
    if agent:
        texts[f"{place}.agents"] = json.dumps(agent, ensure_ascii=False)
    for key, value in _pairs(terminal, "headers", header).items():
        texts[f"{place}.headers.{key}"] = value
    configuration.change(texts)
    file = str(configuration.written)
    terminal.print_result({"name": name, "file": file}, "peer_added", name=name, file=file)
    terminal.print_note("peer_try", name=name)


@cli_command
def remove_mcp_server(
    terminal: Terminal,
    name: McpServer,
    tool: Annotated[str | None, cli_argument("Withdraw trust in this tool only.", "TOOL")] = None,
) -> None:
    """Remove an MCP server from the settings and withdraw trust in its tools."""
    if tool is not None:
        terminal.client.delete("mcp", "servers", name, "tools", tool)
        view = {"name": name, "tool": tool}
        terminal.print_result(view, "mcp_distrusted", name=name, tool=tool)
        return
    configuration = open_terminal_configuration(terminal)
    known = mcp_server_names_in(configuration)
    if name not in known:
        raise NotFound(
            terminal.words("mcp_unknown", name=name),
            cure=terminal.words("mcp_unknown_cure", names=", ".join(sorted(known)) or "-"),
        )
    configuration.change({f"{_SECTION}.{name}": None})
    # Without a running server the trust stays, bound to this command or address, and is not used.
    with suppress(OpenCrabError):
        terminal.client.delete("mcp", "servers", name)
    terminal.print_result({"name": name, "removed": True}, "mcp_removed", name=name)


def mcp_server_names_in(configuration: Configuration) -> set[str]:
    """Return the names of the MCP servers in the settings."""
    found = (each.name for each in configuration.settings())
    return {name.split(".")[2] for name in found if name.startswith(f"{_SECTION}.")}


def _pairs(terminal: Terminal, table: str, texts: list[str] | None) -> Mapping[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals or "." in name:
            raise Invalid(terminal.words("mcp_pair", text=name), field=table, cure="NAME=VALUE")
        pairs[name] = value
    return pairs
