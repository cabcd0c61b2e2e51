"""Tools of MCP servers: as a server lists them now, and as their owner trusted them."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from opencrab.domain.mcp.schema import mcp_argument_schema
from opencrab.domain.mcp.text import DESCRIPTION, visible_mcp_text
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Value

TRUSTED_TOOLS_KIND = "mcp_tools"
"""The kind of the documents with the trusted tools of one server each."""

ACTION_PREFIX = "mcp__"
MOST_TOOLS = 128
"""Tools of one server that are read; more are cut."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_NAME_PROBLEM = "its name has other characters than A-Z a-z 0-9 _ . -"
_LONGEST_ACTION = 64
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class McpToolState(StrEnum):
    """Whether a tool may be used: only a `trusted` one is offered to agents.

    `changed` is not what its owner trusted any more, `gone` is not listed by its server, and
    `unusable` has a name or a schema that cannot be read.
    """

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    UNUSABLE = "unusable"


REMOTE_PEER = "a2a__"
"""How groups of actions begin that ask an agent elsewhere; its name is behind it."""


class McpTool(Value):
    """A tool as its server lists it: `fingerprint` is a hash of all that the server says of it.

    `hints` are what the server claims about it, which decides nothing. `problem` says why it cannot
    be used.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    hints: tuple[str, ...] = ()
    fingerprint: str
    problem: str = ""

    @classmethod
    def of(cls, listed: Mapping[str, Any]) -> "McpTool":
        """Read what a server says of one tool; what is wrong with it is its `problem`."""
        said = json.dumps(listed, sort_keys=True)
        name, parameters = str(listed.get("name", "")), dict[str, Any]()
        problem = "" if _NAME.fullmatch(name) else _NAME_PROBLEM
        try:
            parameters = mcp_argument_schema(listed.get("inputSchema", {}))
        except Invalid as error:
            problem = error.message
        noted = listed.get("annotations")
        hints = noted if isinstance(noted, Mapping) else {}
        return cls(
            name=visible_mcp_text(name, 128),
            description=visible_mcp_text(str(listed.get("description", "")), DESCRIPTION),
            parameters=parameters,
            hints=tuple(each for each in _HINTS if hints.get(each) is True),
            fingerprint=content_hash(said.encode()),
            problem=problem,
        )


class TrustedTool(Value):
    """A tool that the owner trusts: what models read of it, and what a call may do.

    With `shared` turns of other people may use it and hear its results; else only the owner's own
    and the agent's.
    """

    name: str
    action: str
    description: str
    parameters: dict[str, Any]
    fingerprint: str
    impact: Impact = Impact.EXTERNAL
    effect: Effect = Effect.ONCE
    shared: bool = False
    trusted_at: datetime


class TrustedTools(Value):
    """The trusted tools of one server; `identity` is that of the server they were trusted for."""

    identity: str = ""
    tools: tuple[TrustedTool, ...] = ()

    def tool(self, name: str) -> TrustedTool | None:
        """Return the trusted tool of this name, or None."""
        return next((each for each in self.tools if each.name == name), None)

    def with_tool(self, tool: TrustedTool) -> "TrustedTools":
        """Return these with one more, or with another in its place; raises Invalid for a clash."""
        others = tuple(each for each in self.tools if each.name != tool.name)
        taken = next((each for each in others if each.action == tool.action), None)
        if taken is not None:
            raise Invalid(
                f"the tool would be the action {tool.action}, which {taken.name} is already",
                field="tool",
                cure="trust one of the two",
            )
        kept = (*others, tool)
        return self.replaced(tools=tuple(sorted(kept, key=lambda each: each.action)))

    def without_tool(self, name: str) -> "TrustedTools":
        """Return these without a tool."""
        return self.replaced(tools=tuple(each for each in self.tools if each.name != name))


def mcp_action_name(server: str, tool: str) -> str:
    """Return the name of a tool's action, at most 64 characters of `a-z`, `0-9` and `_`.

    It starts with `mcp__`, as no action of ours does.
    """
    plain = re.sub(r"[^a-z0-9_]", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool).lower())
    name = f"{ACTION_PREFIX}{server}__{plain}"
    if len(name) <= _LONGEST_ACTION:
        return name
    digest = content_hash(tool.encode())[:6]
    return f"{name[: _LONGEST_ACTION - 7]}_{digest}"
