"""MCP servers of the settings files as they are now: a change counts without a restart.

What speaks with servers loads with the first one that the files name.
"""

import logging
from collections.abc import Callable
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from opencrab.actions import Registry
from opencrab.domain.errors import OpenCrabError

if TYPE_CHECKING:
    from opencrab.adapters.mcp.connections import McpConnections
    from opencrab.domain.access.authority import Authority
    from opencrab.domain.agents.agent import Agent
    from opencrab.domain.agents.agent_state import AgentState
    from opencrab.domain.mcp.server import McpServer
    from opencrab.domain.models.routing import Routing
    from opencrab.ports.access.secrets import Secrets
    from opencrab.ports.documents import Documents
    from opencrab.ports.mcp import McpServers, McpSignIns
    from opencrab.ports.models.model import ActionSchema
    from opencrab.ports.turn.action import Action
    from opencrab.settings import Settings

log = logging.getLogger(__name__)


class FollowedMcpServers:
    """`ports.mcp.McpServers` of a server on this computer, read again when a file changed.

    Files that became wrong meanwhile leave the servers as they were.

    Args:
        configured: The settings at the start; servers in them that contradict raise Invalid.
        load: Reads the settings again.
        stamp: Changes with the files.
        secrets: What servers name and the environment lacks.
        facts: The owner's sign-ins.
    """

    def __init__(
        self,
        configured: "Settings",
        load: "Callable[..., Settings]",
        stamp: Callable[[], object],
        secrets: "Secrets",
        facts: "Documents",
    ) -> None:
        self._load, self._stamp = load, stamp
        self._secrets, self._facts = secrets, facts
        self._lock = RLock()
        self._client: McpConnections | None = None
        self._seen = stamp()
        self._servers = self._read(configured)

    @property
    def servers(self) -> "tuple[McpServer, ...]":
        """The servers that are enabled now."""
        with self._lock:
            stamp = self._stamp()
            if stamp != self._seen:
                self._seen = stamp
                self._read_again()
            return self._servers

    @property
    def client(self) -> "McpConnections":
        """What speaks with the servers."""
        from opencrab.bootstrap.mcp.servers import mcp_connections

        with self._lock:
            if self._client is None:
                self._client = mcp_connections(self.sign_ins, is_local=True)
            return self._client

    @cached_property
    def sign_ins(self) -> "Callable[[], McpSignIns]":
        """What opens the owner's sign-ins, at their first use."""
        from opencrab.bootstrap.mcp.servers import mcp_sign_ins

        return mcp_sign_ins(self._facts, self._secrets, is_local=True)

    def _read_again(self) -> None:
        self._secrets.forget()
        try:
            found = self._read(self._load({}))
        except OpenCrabError as error:
            log.warning(
                "cannot reload MCP servers, keeping the current ones: error=%s", error.message
            )
            return
        if self._client is not None:
            self._client.close_all_but(found)
        self._servers = found

    def _read(self, configured: "Settings") -> "tuple[McpServer, ...]":
        if not any(name.startswith("mcp.servers.") for name in configured.values):
            return ()
        from opencrab.bootstrap.mcp.servers import configured_mcp_servers, settings_of_mcp_servers

        named = settings_of_mcp_servers(configured, self._load, self._secrets)
        return configured_mcp_servers(named, is_local=True)


class FollowingMcpRegistry(Registry):
    """`plain`, with the trusted tools of the servers that the settings name now.

    `with_tools` makes the registry that has them, too.
    """

    def __init__(
        self, plain: Registry, followed: "McpServers", with_tools: Callable[[], Registry]
    ) -> None:
        super().__init__(())
        self._plain, self._followed, self._make = plain, followed, with_tools

    @cached_property
    def _with_tools(self) -> Registry:
        return self._make()

    @property
    def _now(self) -> Registry:
        return self._with_tools if self._followed.servers else self._plain

    def find(self, name: str) -> "Action | None":
        return self._now.find(name)

    def all(self) -> "tuple[Action, ...]":
        return self._plain.all()

    def allowed(
        self, agent: "Agent", routing: "Routing", authority: "Authority"
    ) -> "tuple[Action, ...]":
        return self._now.allowed(agent, routing, authority)

    def schemas(
        self, agent: "Agent", routing: "Routing", authority: "Authority", mind: "AgentState"
    ) -> "tuple[ActionSchema, ...]":
        return self._now.schemas(agent, routing, authority, mind)
