"""Trust in tools of MCP servers: what a server offers now, beside what its owner accepted."""

from dataclasses import dataclass, field, replace
from typing import Any

from opencrab.domain.access.impact import Impact
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Conflict, Invalid, NoRoom, NotFound
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import (
    MOST_TOOLS,
    TRUSTED_TOOLS_KIND,
    McpTool,
    McpToolState,
    TrustedTool,
    TrustedTools,
    mcp_action_name,
)
from opencrab.domain.turn.action import Effect
from opencrab.engine.runtime import Runtime
from opencrab.ports.mcp import McpServers
from opencrab.ports.turn.action import byte_count_of_turn_json

TRUSTED_BYTES = 256 * 1024
"""The most bytes that the trusted tools of one server may take in the store."""

_EFFECTS = frozenset({Effect.PURE, Effect.ONCE})


@dataclass(frozen=True)
class McpToolStanding:
    """A tool of a server, as it is now and as its owner trusts it.

    `impact`, `effect` and `shared` are the owner's, or the defaults of a tool that is not trusted.
    """

    name: str
    action: str
    state: McpToolState
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    fingerprint: str = ""
    impact: Impact = Impact.EXTERNAL
    effect: Effect = Effect.ONCE
    shared: bool = False
    problem: str = ""


def configured_mcp_server(runtime: Runtime, name: str) -> tuple[McpServers, McpServer]:
    """Return a server of the settings with what speaks to it; raises NotFound."""
    link = runtime.mcp
    found = None if link is None else next((s for s in link.servers if s.name == name), None)
    if link is None or found is None:
        raise NotFound(
            f"there is no MCP server {name!r} in the settings",
            field="server",
            cure="`opencrab mcp list` shows them, and `opencrab mcp add` adds one",
        )
    return link, found


def trusted_mcp_tools(runtime: Runtime, server: McpServer) -> TrustedTools:
    """Return the trusted tools of a server; none if they were trusted for another address."""
    trusted = _document(runtime, server.name).read(TrustedTools)
    return trusted if trusted.identity == server.identity else TrustedTools()


def list_mcp_tools(runtime: Runtime, name: str) -> tuple[McpToolStanding, ...]:
    """Ask a server for its tools and return each beside what the owner trusts, by name.

    Raises NotFound, Refused and Unavailable.
    """
    link, server = configured_mcp_server(runtime, name)
    listed = {tool.name: tool for tool in link.client.tools(server)}
    if link.sign_ins is not None and server.may_sign_in:
        link.sign_ins().note_success(server)
    trusted = {tool.name: tool for tool in trusted_mcp_tools(runtime, server).tools}
    return tuple(
        _standing(name, each, listed.get(each), trusted.get(each))
        for each in sorted(listed.keys() | trusted.keys())
    )


def trust_mcp_tool(
    runtime: Runtime,
    name: str,
    tool: str,
    fingerprint: str,
    *,
    impact: Impact = Impact.EXTERNAL,
    effect: Effect = Effect.ONCE,
    shared: bool = False,
) -> McpToolStanding:
    """Trust a tool as it was shown: `fingerprint` is that of what the owner saw.

    Raises Conflict if the server describes it otherwise by now, NotFound, Invalid and Unavailable.
    """
    if effect not in _EFFECTS:
        raise Invalid(
            f"a tool of an MCP server cannot be {effect.value}",
            field="effect",
            cure="once (never repeated) or pure (may run again after a crash)",
        )
    link, server = configured_mcp_server(runtime, name)
    listed = _tool_as_seen(link, server, tool, fingerprint)
    accepted = TrustedTool(
        name=tool,
        action=mcp_action_name(name, tool),
        description=listed.description,
        parameters=listed.parameters,
        fingerprint=fingerprint,
        impact=impact,
        effect=effect,
        shared=shared,
        trusted_at=runtime.clock.now(),
    )
    stored, before = _document(runtime, name), trusted_mcp_tools(runtime, server)
    _save(runtime, stored, before.with_tool(accepted).replaced(identity=server.identity))
    return _standing(name, tool, listed, accepted)


def _tool_as_seen(link: McpServers, server: McpServer, tool: str, fingerprint: str) -> McpTool:
    """Return a tool that can be used and is still as its owner saw it."""
    listed = next((each for each in link.client.tools(server) if each.name == tool), None)
    if listed is None:
        raise NotFound(
            f"the MCP server {server.name} lists no tool {tool!r}",
            field="tool",
            cure=f"`opencrab mcp test {server.name}` shows its tools",
        )
    if listed.problem:
        raise Invalid(f"{tool} cannot be used: {listed.problem}", field="tool")
    if listed.fingerprint != fingerprint:
        raise Conflict(
            f"the MCP server {server.name} describes {tool} otherwise by now",
            field="fingerprint",
            cure=f"look at it again with `opencrab mcp test {server.name}`",
        )
    return listed


def distrust_mcp_tool(runtime: Runtime, name: str, tool: str) -> None:
    """Withdraw trust in a tool; no agent has it from its next step on. Raises NotFound."""
    stored = _document(runtime, name)
    trusted = stored.read(TrustedTools)
    if trusted.tool(tool) is None:
        raise NotFound(
            f"no tool {tool!r} of the MCP server {name} is trusted",
            field="tool",
            cure=f"`opencrab mcp test {name}` shows which are",
        )
    _save(runtime, stored, trusted.without_tool(tool))


def distrust_mcp_server(runtime: Runtime, name: str) -> int:
    """Withdraw trust in all tools of a server, also of one that is in no settings any more.

    Returns how many there were. Raises NotFound for a server that nobody knows.
    """
    stored = _document(runtime, name)
    if not stored.version:
        configured_mcp_server(runtime, name)
    count = len(stored.read(TrustedTools).tools)
    if stored.version:
        runtime.home.facts.commit(stored.removed())
    return count


def _standing(
    server: str, name: str, listed: McpTool | None, trusted: TrustedTool | None
) -> McpToolStanding:
    """Return a tool as its server lists it, with what its owner decided."""
    standing = McpToolStanding(name, mcp_action_name(server, name), McpToolState.GONE)
    if trusted is not None:
        standing = replace(
            standing,
            description=trusted.description,
            impact=trusted.impact,
            effect=trusted.effect,
            shared=trusted.shared,
        )
    if listed is None:
        return standing
    return replace(
        standing,
        state=_state(listed, trusted),
        description=listed.description,
        parameters=listed.parameters,
        hints=listed.hints,
        fingerprint=listed.fingerprint,
        problem=listed.problem,
    )


def _state(listed: McpTool, trusted: TrustedTool | None) -> McpToolState:
    if listed.problem:
        return McpToolState.UNUSABLE
    if trusted is None:
        return McpToolState.NEW
    same = trusted.fingerprint == listed.fingerprint
    return McpToolState.TRUSTED if same else McpToolState.CHANGED


def _document(runtime: Runtime, name: str) -> Document:
    """Return the document of a server's trusted tools, or an empty one that is not stored yet."""
    found = runtime.home.facts.get(INSTALLATION_FACTS, TRUSTED_TOOLS_KIND, name)
    if found is not None:
        return found
    return Document(owner=INSTALLATION_FACTS, kind=TRUSTED_TOOLS_KIND, id=name, version=0, body={})


def _save(runtime: Runtime, stored: Document, tools: TrustedTools) -> None:
    changed = stored.with_body(tools)
    if len(tools.tools) > MOST_TOOLS or byte_count_of_turn_json(changed.body) > TRUSTED_BYTES:
        raise NoRoom(
            f"the trusted tools of one server may be {MOST_TOOLS} with "
            f"{TRUSTED_BYTES // 1024} KB of descriptions",
            cure="withdraw trust in some with `opencrab mcp remove SERVER TOOL`",
        )
    runtime.home.facts.commit(changed)
