"""Signing in at MCP servers, for the owner: begin, finish, end, and what state each server has."""

from collections.abc import Mapping

from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import McpSignInRecord
from opencrab.engine.mcp.trust import configured_mcp_server
from opencrab.engine.runtime import Runtime
from opencrab.ports.mcp import McpSignIns, McpSignInStart, McpSignOut


def start_mcp_sign_in(runtime: Runtime, name: str, redirect_uri: str) -> McpSignInStart:
    """Begin to sign in at a server; its answer comes back to the redirect URI.

    Raises NotFound, Invalid, Refused and Unavailable.
    """
    server, sign_ins = _sign_ins(runtime, name)
    return sign_ins.start(server, redirect_uri)


def finish_mcp_sign_in(runtime: Runtime, name: str, answer: str) -> McpSignInRecord:
    """Sign in with the address that the browser was sent to. Raises as `start_mcp_sign_in`."""
    server, sign_ins = _sign_ins(runtime, name)
    return sign_ins.finish(server, answer)


def end_mcp_sign_in(runtime: Runtime, name: str) -> McpSignOut:
    """Forget a server's tokens, and revoke them where that is offered. Raises NotFound."""
    server, sign_ins = _sign_ins(runtime, name)
    return sign_ins.end(server)


def forget_mcp_sign_in(runtime: Runtime, name: str) -> None:
    """Forget what is stored of a server, also of one that is in no settings any more."""
    if runtime.mcp is not None and runtime.mcp.sign_ins is not None:
        runtime.mcp.sign_ins().forget(name)


def mcp_sign_in_records(runtime: Runtime) -> Mapping[str, McpSignInRecord]:
    """Return what is known of the sign-ins at the servers of the settings, by name."""
    link = runtime.mcp
    if link is None or link.sign_ins is None or not (servers := link.servers):
        return {}
    return link.sign_ins().records(servers)


def _sign_ins(runtime: Runtime, name: str) -> tuple[McpServer, McpSignIns]:
    link, server = configured_mcp_server(runtime, name)
    if link.sign_ins is not None:
        return server, link.sign_ins()
    if server.may_sign_in:
        raise Unavailable(
            "this installation has no secret store", cure="give the server a token in its headers"
        )
    raise Refused(
        f"nobody signs in at {name}: it is no MCP server at an address, or the settings give it "
        "an Authorization header",
        cure=f"look at mcp.servers.{name} in the settings",
    )
