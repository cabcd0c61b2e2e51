"""MCP servers of the settings, the tools that they offer, and which of them the owner trusts.

A command's variables and a server's headers are in no answer.
"""

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field, StringConstraints

from opencrab.domain.access.impact import Impact
from opencrab.domain.mcp.server import McpServer, McpServerName
from opencrab.domain.mcp.tool import McpToolState
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Received, Value
from opencrab.engine.mcp.trust import (
    distrust_mcp_server,
    distrust_mcp_tool,
    list_mcp_tools,
    trust_mcp_tool,
    trusted_mcp_tools,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/mcp/servers", "mcp")

Server = Annotated[McpServerName, Path(description="the server's name in the settings")]
Tool = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$"),
    Path(description="the tool's name, as its server lists it"),
]


class McpServerView(Value):
    """A server; `problem` says why it cannot be used, and is empty if it can.

    `kind` is `command` for a process of this computer and `url` for an address. Without `agents`
    every agent has its tools.
    """

    name: str
    kind: str
    agents: tuple[str, ...]
    trusted: int
    problem: Received
    cure: Received


class McpServersView(Value):
    """The servers of the settings, by name."""

    items: tuple[McpServerView, ...]


class McpToolView(View):
    """A tool of a server, as it is now; only one whose `state` is `trusted` is offered to agents.

    `hints` are what the server claims of it, which decides nothing. `action` is its name for
    agents.
    """

    name: str
    action: str
    state: McpToolState
    description: Received
    parameters: dict[str, Any]
    hints: tuple[str, ...]
    fingerprint: str
    impact: Impact
    effect: Effect
    shared: bool
    problem: Received


class McpToolsView(Value):
    """The tools of one server, by name."""

    items: tuple[McpToolView, ...]


class McpToolPut(Value, defer_build=False):
    """Trust in a tool as it was shown, and what its calls may do.

    `external` calls wait for an approval each; those of other impacts follow the agent's approval
    policy. A `pure` call may run again after a crash, one that runs `once` never does.
    """

    fingerprint: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="that of the tool as you saw it"
    )
    impact: Impact = Impact.EXTERNAL
    effect: Effect = Effect.ONCE
    shared: bool = Field(
        default=False, description="true if turns of other people may use it and read its results"
    )


@router.get("", operation_id="list_mcp_servers")
def list_configured_mcp_servers(api: Api, _caller: Owner) -> McpServersView:
    """List the MCP servers of the settings.

    None of them is asked.
    """
    link = api.runtime.mcp
    servers = () if link is None else link.servers
    return McpServersView(items=tuple(_server_view(api.runtime, each) for each in servers))


@router.delete("/{server}", status_code=204, operation_id="delete_mcp_trust")
def delete_trust_in_mcp_server(api: Api, _caller: Owner, server: Server) -> None:
    """Withdraw trust in all tools of a server, also of one that is not in the settings any more."""
    distrust_mcp_server(api.runtime, server)


@router.get("/{server}/tools", operation_id="list_mcp_tools")
def list_tools_of_mcp_server(api: Api, _caller: Owner, server: Server) -> McpToolsView:
    """Ask a server for its tools.

    A command is started if it does not run yet.
    """
    found = list_mcp_tools(api.runtime, server)
    return McpToolsView(items=tuple(map(McpToolView.of, found)))


@router.put("/{server}/tools/{tool}", operation_id="put_mcp_tool")
def put_trust_in_mcp_tool(
    api: Api, _caller: Owner, server: Server, tool: Tool, body: Strict[McpToolPut]
) -> McpToolView:
    """Trust a tool, or change what its calls may do.

    Agents have it from their next step on. The answer is 409 if the server describes it otherwise
    than when you saw it.
    """
    found = trust_mcp_tool(
        api.runtime,
        server,
        tool,
        body.fingerprint,
        impact=body.impact,
        effect=body.effect,
        shared=body.shared,
    )
    return McpToolView.of(found)


@router.delete("/{server}/tools/{tool}", status_code=204, operation_id="delete_mcp_tool")
def delete_trust_in_mcp_tool(api: Api, _caller: Owner, server: Server, tool: Tool) -> None:
    """Withdraw trust in a tool.

    No agent has it from its next step on.
    """
    distrust_mcp_tool(api.runtime, server, tool)


def _server_view(runtime: Runtime, server: McpServer) -> McpServerView:
    return McpServerView(
        name=server.name,
        kind="command" if server.command else "url",
        agents=server.agents,
        trusted=len(trusted_mcp_tools(runtime, server).tools),
        problem=server.problem,
        cure=server.cure if server.problem else "",
    )
