"""One request of an MCP client, with all that its methods need."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.agents.agent import Profile
from opencrab.domain.identifier import stable_id
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.agents.agent_names import find_agent_by_id_or_name
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.mcp.route_calls import RouteCalls
from opencrab.gateways.rest.mcp.rpc import RequestId, RpcError, RpcMessage

_LIST_CURE = "use list_agents"


@dataclass(frozen=True)
class McpRequest:
    """A client's message, who sent it, in which session, and the routes that answer it.

    `repeat` is an Idempotency-Key of the client's.
    """

    api: RestContext
    caller: Caller
    routes: RouteCalls
    message: RpcMessage
    session: str | None
    repeat: str | None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runtime(self) -> Runtime:
        """The installation."""
        return self.api.runtime

    @property
    def language(self) -> Language:
        """The client's language."""
        return self.caller.language

    def text(self, name: str) -> str:
        """Return a parameter that must be a text; raises RpcError."""
        found = self.message.params.get(name)
        if not isinstance(found, str):
            raise RpcError(McpErrorCode.INVALID_PARAMS, f"{name} must be a text")
        return found

    def cursor(self) -> str | None:
        """Return where a list continues; raises RpcError."""
        return None if self.message.params.get("cursor") is None else self.text("cursor")

    def agent(self, said: str) -> Profile:
        """Return the agent with this id or name; raises NotFound, Invalid."""
        agents, who = self.runtime.home.agents, self.caller.principal
        return find_agent_by_id_or_name(agents, who, said, field="agent", cure=_LIST_CURE)

    def idempotency_key(self, *parts: str) -> str:
        """Return the key of what this request does: the same one for the same request sent again.

        A request is known by the client's Idempotency-Key, or else by its id in its session. One
        without either is never taken for a repeat.
        """
        if self.repeat is not None:
            return stable_id("mcp", "header", self.repeat, *parts)
        if self.session is not None:
            return stable_id("mcp", self.session, json.dumps(self.message.id), *parts)
        return self.runtime.clock.new_id()

    def marker(self, number: RequestId | None) -> str | None:
        """Return the name under which a request of this session is noted, for its cancellation."""
        if self.session is None or number is None:
            return None
        return stable_id("mcp-call", self.caller.principal.id, self.session, json.dumps(number))
