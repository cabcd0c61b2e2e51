"""The trusted tools of MCP servers as actions, beside those of this package.

What a model reads of a tool is what its owner trusted, and comes from the store: a server that
describes it otherwise meanwhile reaches nobody.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from opencrab.actions.registry import Group, Registry
from opencrab.domain.a2a.protocol import MOST_A2A_HOPS
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Refused
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import (
    ACTION_PREFIX,
    REMOTE_PEER,
    TRUSTED_TOOLS_KIND,
    TrustedTool,
    TrustedTools,
)
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language
from opencrab.ports.documents import Documents
from opencrab.ports.mcp import McpClient, McpServers, McpUnavailable
from opencrab.ports.models.model import ActionSchema
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import (
    Action,
    ActionContext,
    byte_count_of_turn_json,
    one_line,
)
from opencrab.ports.turn.schema_arguments import argument_class_of_turn_schema

_SHOWN = 300
_OWN = frozenset({Authority.OWNER, Authority.SELF})
_DESCRIPTIONS = {
    Language.EN: "Tool {tool} of the MCP server {server}: {said}",
    Language.JA: "MCPサーバー{server}のツール{tool}: {said}",
}
_SENTENCES = {
    Language.EN: "Call the tool {tool} of the MCP server {server}",
    Language.JA: "MCPサーバー{server}のツール{tool}を呼び出す",
}


class McpRegistry(Registry):
    """A registry that also has the trusted tools of configured MCP servers.

    Args:
        groups: Every group of this package.
        skills: The standard skills.
        absent: Names of actions that this installation cannot offer.
        link: The configured servers, and what speaks with them.
        facts: Where the trusted tools are stored.
        prompt_bytes: The most bytes of schemas in a prompt; `find_actions` shows the others.
        described: Names of actions of the groups that are part of every prompt.
    """

    def __init__(
        self,
        groups: Iterable[Group],
        skills: StandardSkills | None = None,
        absent: Iterable[str] = (),
        *,
        link: McpServers,
        facts: Documents,
        prompt_bytes: int,
        described: Iterable[str] = (),
    ) -> None:
        super().__init__(groups, skills, absent, described=described)
        self._link = link
        self._facts = facts
        self._prompt_bytes = prompt_bytes

    def find(self, name: str) -> Action | None:
        if not name.startswith(ACTION_PREFIX):
            return super().find(name)
        return next((each for each, _ in self._tools() if each.name == name), None)

    def allowed(self, agent: Agent, routing: Routing, authority: Authority) -> tuple[Action, ...]:
        ours = super().allowed(agent, routing, authority)
        theirs = self._tools_for(agent, routing, authority)
        return tuple(sorted((*ours, *theirs), key=lambda each: each.name)) if theirs else ours

    def schemas(
        self, agent: Agent, routing: Routing, authority: Authority, mind: AgentState
    ) -> tuple[ActionSchema, ...]:
        ours = super().schemas(agent, routing, authority, mind)
        left, shown = self._prompt_bytes, list[ActionSchema]()
        for each in self._tools_for(agent, routing, authority):
            schema = each.schema(agent.language)
            size = byte_count_of_turn_json([schema.name, schema.description, schema.parameters])
            if size > left:
                break
            left -= size
            shown.append(schema)
        return tuple(sorted((*ours, *shown), key=lambda each: each.name)) if shown else ours

    def _tools_for(
        self, agent: Agent, routing: Routing, authority: Authority
    ) -> tuple[Action, ...]:
        return tuple(
            action
            for action, tool in self._tools()
            if (tool.shared or authority in _OWN) and action.offered(agent, routing)
        )

    def _tools(self) -> list[tuple[Action, TrustedTool]]:
        """Return the trusted tools that did not change, in order of their actions' names."""
        servers = {server.name: server for server in self._link.servers if not server.problem}
        names = [(TRUSTED_TOOLS_KIND, name) for name in sorted(servers)]
        found = self._facts.get_many(INSTALLATION_FACTS, *names) if names else ()
        tools = list[tuple[Action, TrustedTool]]()
        for stored in found:
            if stored.body is None:
                continue
            server = servers[stored.id]
            trusted = stored.read(TrustedTools)
            if trusted.identity != server.identity:
                continue
            pinned = {tool.name: tool.fingerprint for tool in trusted.tools}
            changed = self._link.client.changed_tools(server, pinned)
            tools += [
                (self._action(server, tool), tool)
                for tool in trusted.tools
                if tool.name not in changed
            ]
        return sorted(tools, key=lambda each: each[0].name)

    def _action(self, server: McpServer, tool: TrustedTool) -> Action:
        def run(arguments: BaseModel, context: ActionContext) -> ActionResult:
            return _call(self._link.client, server, tool, arguments, context)

        def offered(agent: Agent, _routing: Routing) -> bool:
            return server.serves(agent)

        named = {"server": server.name, "tool": tool.name}
        return Action(
            name=tool.action,
            group=f"{REMOTE_PEER if server.a2a else ACTION_PREFIX}{server.name}",
            impact=tool.impact,
            effect=tool.effect,
            arguments=argument_class_of_turn_schema(json.dumps(tool.parameters)),
            run=run,
            descriptions={
                language: text.format(**named, said=tool.description)
                for language, text in _DESCRIPTIONS.items()
            },
            sentences={
                language: text.format(**named).replace("{", "{{").replace("}", "}}")
                for language, text in _SENTENCES.items()
            },
            touches=_excerpt,
            offered=offered,
            watched=not (server.a2a or server.openapi),
        )


def _call(
    client: McpClient,
    server: McpServer,
    tool: TrustedTool,
    arguments: BaseModel,
    context: ActionContext,
) -> ActionResult:
    """Call a tool; everything that the server says taints the turn."""
    if not (tool.shared or (context.turn.authority in _OWN and context.clearance.whole)):
        return ActionResult.failure(
            f"results of {tool.action} are for its owner alone, and others read here: "
            "use it where only the owner does, or ask the owner to share it"
        )
    given: Mapping[str, Any] = arguments.model_extra or {}
    hops = context.turn.hops + 1
    if server.a2a and hops >= MOST_A2A_HOPS:
        return ActionResult.failure(f"the words of this turn have passed through {hops} agents")
    try:
        answer = client.call(
            *(server, tool.name, tool.fingerprint, given),
            key=context.key,
            hops=hops,
            watch=context.watch,
        )
    except McpUnavailable as error:
        if error.sent and tool.effect is Effect.ONCE:
            # The engine records that nobody knows whether it was done.
            raise
        return ActionResult.failure(_sentence(error.message, error.cure))
    except Refused as error:
        return ActionResult.failure(_sentence(error.message, error.cure))
    if answer.is_error:
        failed = ActionResult.failure(f"the tool failed: {one_line(answer.text, 2_000)}")
        return failed.replaced(taint=True)
    told = {"text": answer.text} if answer.text or answer.data is None else {}
    data = {} if answer.data is None else {"data": answer.data}
    return ActionResult.ok(server=server.name, **told, **data).replaced(taint=True)


def _sentence(message: str, cure: str | None) -> str:
    return f"{message}: {cure}" if cure else message


def _excerpt(arguments: BaseModel) -> str:
    return one_line(arguments.model_extra or {}, _SHOWN)
