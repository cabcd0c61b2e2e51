"""Configured MCP servers: a local command, an address, or an HTTP API with its description."""

from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.agents.agent import Agent
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Value

McpServerName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=24)
]
"""No `__`, so that the names of two servers' actions never meet."""


class McpOAuth(Value):
    """How to sign in at a server, where its own description does not suffice; all may be empty.

    `client_id` and `client_secret` are those of an app that the owner registered by hand, `scope`
    what is asked for, and `issuer` the authorization server, if the owner names it.
    """

    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    scope: str = ""
    issuer: str = ""


class McpServer(Value):
    """One MCP server of the settings: `command` is run on this computer, `url` is called.

    With `openapi`, the address or file of a description by OpenAPI 3, it is an HTTP API whose
    `operations` are its tools, or all without any; `url` is then the API's own address.

    With `a2a`, the address of an agent card or of the host that has one, it is an agent elsewhere.

    A server at a `url` whose `headers` have no Authorization may ask for a sign-in by `oauth`.

    `env` and `headers` may hold secrets: they are in no text that a person, a model or a log gets.
    `agents` are names or ids; without any, every agent has its tools. `problem` says why it cannot
    be used, in English.
    """

    name: McpServerName
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    url: str = Field(default="", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    oauth: McpOAuth = McpOAuth()
    openapi: str = Field(default="", repr=False)
    operations: tuple[str, ...] = ()
    a2a: str = Field(default="", repr=False)
    agents: tuple[str, ...] = ()
    timeout_seconds: float = 60
    max_result_kb: int = 256
    problem: str = ""
    cure: str = ""

    @property
    def identity(self) -> str:
        """A hash of what it is: tools trusted for another command or address are not trusted."""
        described = tuple(each for each in (self.openapi, self.a2a) if each)
        parts = (self.command, *self.args, self.url, *described)
        return content_hash("\0".join(parts).encode())[:16]

    @property
    def may_sign_in(self) -> bool:
        """True for an MCP server at an address to which the settings give no token."""
        is_mcp = bool(self.url) and not (self.command or self.openapi or self.a2a)
        return is_mcp and not any(name.lower() == "authorization" for name in self.headers)

    def serves(self, agent: Agent) -> bool:
        """Check whether an agent may use its tools."""
        return not self.agents or agent.id in self.agents or agent.name in self.agents
