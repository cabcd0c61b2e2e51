"""MCP servers of the settings, the tools that they offer, and which of them the owner trusts.

A command's variables and a server's headers are in no answer.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import Field, StringConstraints

from opencrab.domain.access.impact import Impact
from opencrab.domain.mcp.server import McpServer, McpServerName
from opencrab.domain.mcp.sign_in import McpSignInRecord, McpSignInState
from opencrab.domain.mcp.tool import McpToolState
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Received, Value
from opencrab.engine.mcp.sign_in import (
    end_mcp_sign_in,
    finish_mcp_sign_in,
    forget_mcp_sign_in,
    mcp_sign_in_records,
    start_mcp_sign_in,
)
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
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View
from opencrab.ports.mcp import McpSignInStart

router = http_routes_below("/api/mcp/servers", "mcp")

Server = Annotated[McpServerName, Path(description="the server's name in the settings")]
Tool = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,128}$"),
    Path(description="the tool's name, as its server lists it"),
]


class McpSignInView(Value):
    """The owner's sign-in at a server, without any token.

    `needed` waits for the owner, and so does `more_scope`, where the server wants `wanted_scope`,
    too. `issuer` is the authorization server and `scope` what was allowed.
    """

    state: McpSignInState
    issuer: Received = ""
    scope: Received = ""
    wanted_scope: Received = ""
    since: datetime | None = None

    @classmethod
    def of(cls, record: McpSignInRecord | None) -> "McpSignInView":
        """Show a record, or that there is none."""
        if record is None:
            return cls(state=McpSignInState.NONE)
        return cls(
            state=record.state,
            issuer=record.issuer,
            scope=record.scope,
            wanted_scope=record.wanted_scope,
            since=record.since,
        )


class McpSignInPost(Value, defer_build=False):
    """A sign-in to begin; the browser is sent to `redirect_uri`, on the owner's own computer."""

    redirect_uri: Annotated[
        str, StringConstraints(max_length=100, pattern=r"^http://[!-~]+/callback$")
    ] = Field(description="http://127.0.0.1:PORT/callback")


class McpSignInStartView(Value):
    """Where the owner agrees: `url` is for the owner's browser, and good until `expires_at`.

    `scope` is asked for there. If `previous_issuer` is not empty, the owner signed in at that
    authorization server before: who asks now should be looked at.
    """

    url: str
    issuer: str
    scope: str
    previous_issuer: str
    expires_at: datetime


class McpSignInPut(Value, defer_build=False):
    """The address to which the browser was sent back, which holds a code that works once."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=8_192)]


class McpSignOutView(Value):
    """The end of a sign-in: `revoked` is true if the authorization server forgot it, too.

    Without `had_tokens` there was no sign-in to end.
    """

    had_tokens: bool
    revoked: bool


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
    sign_in: McpSignInView


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
    records = mcp_sign_in_records(api.runtime)
    return McpServersView(items=tuple(_server_view(api.runtime, each, records) for each in servers))


@router.delete("/{server}", status_code=204, operation_id="delete_mcp_trust")
def delete_trust_in_mcp_server(api: Api, _caller: Owner, server: Server) -> None:
    """Withdraw trust in all tools of a server, also of one that is not in the settings any more.

    Its sign-in is forgotten, too.
    """
    forget_mcp_sign_in(api.runtime, server)
    distrust_mcp_server(api.runtime, server)


@router.post(
    "/{server}/sign-in", response_model=McpSignInStartView, operation_id="start_mcp_sign_in"
)
def start_sign_in_at_mcp_server(
    api: Api, _caller: Owner, once: Repeatable, server: Server, body: Strict[McpSignInPost]
) -> Response:
    """Begin to sign in at a server with OAuth.

    It is found out where to sign in, and this installation is registered there. A sign-in at this
    server that was under way ends.
    """
    return once.answer(
        body, lambda: _start_view(start_mcp_sign_in(api.runtime, server, body.redirect_uri))
    )


@router.put("/{server}/sign-in", operation_id="finish_mcp_sign_in")
def finish_sign_in_at_mcp_server(
    api: Api, _caller: Owner, server: Server, body: Strict[McpSignInPut]
) -> McpSignInView:
    """Finish a sign-in with the address to which the browser was sent back.

    Its code is taken once. The tokens are stored encrypted, and are in no answer.
    """
    return McpSignInView.of(finish_mcp_sign_in(api.runtime, server, body.answer))


@router.delete("/{server}/sign-in", operation_id="end_mcp_sign_in")
def end_sign_in_at_mcp_server(api: Api, _caller: Owner, server: Server) -> McpSignOutView:
    """Sign out of a server: forget its tokens, and revoke them where that is offered."""
    ended = end_mcp_sign_in(api.runtime, server)
    return McpSignOutView(had_tokens=ended.had_tokens, revoked=ended.revoked)


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


def _start_view(begun: McpSignInStart) -> McpSignInStartView:
    return McpSignInStartView(
        url=begun.url,
        issuer=begun.issuer,
        scope=begun.scope,
        previous_issuer=begun.previous_issuer,
        expires_at=begun.expires_at,
    )


def _server_view(
    runtime: Runtime, server: McpServer, records: Mapping[str, McpSignInRecord]
) -> McpServerView:
    return McpServerView(
        name=server.name,
        kind="command" if server.command else "url",
        agents=server.agents,
        trusted=len(trusted_mcp_tools(runtime, server).tools),
        problem=server.problem,
        cure=server.cure if server.problem else "",
        sign_in=McpSignInView.of(records.get(server.name)),
    )
