"""MCP servers, as actions and their owner use them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from opencrab.domain.errors import Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import McpTool
from opencrab.ports.conversation.answers import CallProgressWatch


@dataclass(frozen=True)
class McpAnswer:
    """The result of a tool: its text, its structured data if any, and whether it is an error."""

    text: str
    data: Any = None
    is_error: bool = False


class McpUnavailable(Unavailable):
    """A server that did not do what it was asked; `sent` is true if it may have done it."""

    code = "mcp-unavailable"

    def __init__(self, message: str, *, cure: str | None = None, sent: bool = False) -> None:
        super().__init__(message, cure=cure)
        self.sent = sent


class McpSessionEnded(McpUnavailable):
    """A server that forgot its client's session: the request was not worked on."""


class McpClient(Protocol):
    """Connections to MCP servers, opened at their first use and kept.

    No error has a server's words or a secret in it.
    """

    def tools(self, server: McpServer) -> tuple[McpTool, ...]:
        """Return the tools that a server lists now. Raises McpUnavailable and Refused."""

    def call(
        self,
        server: McpServer,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        key: str = "",
        hops: int = 0,
        watch: CallProgressWatch | None = None,
    ) -> McpAnswer:
        """Call a tool, if the server still describes it as when it had this fingerprint.

        An agent elsewhere is told `key`, which is the same if a call is made again, and the number
        of agents that a message has passed through. With `watch` the server is asked for its
        progress, and told to cancel the call if the turn was stopped; neither changes the deadline.

        Raises Refused, with nothing sent, for a tool that changed or is gone, and McpUnavailable.
        """

    def changed_tools(self, server: McpServer, fingerprints: Mapping[str, str]) -> frozenset[str]:
        """Return the names of those tools that, as last seen here, differ from a fingerprint.

        Connects to nothing: a server that was not asked yet has changed nothing.
        """


@dataclass(frozen=True)
class McpLink:
    """The configured MCP servers and what speaks with them."""

    servers: tuple[McpServer, ...]
    client: McpClient
