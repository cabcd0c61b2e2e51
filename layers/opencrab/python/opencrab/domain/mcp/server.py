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


class McpServer(Value):
    """One MCP server of the settings: `command` is run on this computer, `url` is called.

    With `openapi`, the address or file of a description by OpenAPI 3, it is an HTTP API whose
    `operations` are its tools, or all without any; `url` is then the API's own address.

    With `a2a`, the address of an agent card or of the host that has one, it is an agent elsewhere.

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

    def serves(self, agent: Agent) -> bool:
        """Check whether an agent may use its tools."""
        return not self.agents or agent.id in self.agents or agent.name in self.agents
