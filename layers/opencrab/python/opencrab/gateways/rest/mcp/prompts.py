"""Prompts of the MCP server: skills of agents, as far as the caller may read them.

A page of the list has the skills of one agent, which are live for it.
"""

import re
from collections.abc import Mapping
from typing import Any

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.agents.agent import Profile
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.gateways.rest.agents.agent_names import agents_in_sight
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.route_calls import RouteProblem
from opencrab.gateways.rest.mcp.rpc import RpcError
from opencrab.ports.texts import Texts

_NAME = re.compile(r"([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})")
_PAGE = 200
_LIVE = {"active", "candidate"}
_TEXTS = Texts(__file__)


async def list_mcp_prompts(asked: McpRequest) -> Mapping[str, Any]:
    """List the skills of an agent, the next one's are on the next page."""
    after = asked.cursor() or ""
    profiles = await run_in_threadpool(_agents_after, asked, after)
    if not profiles:
        return {"prompts": []}
    agent, query = profiles[0].agent, {"limit": _PAGE}
    try:
        page = await asked.routes.call("GET", f"/api/agents/{agent.id}/skills", query=query)
    except RouteProblem:
        # A key that may not read the skills of agents has no prompts.
        return {"prompts": []}
    argument = {"name": "task", "description": _TEXTS["task"][asked.language], "required": False}
    found = [
        {
            "name": f"{agent.id}.{skill['name']}",
            "title": f"{agent.name}: {skill['title']}",
            "description": skill["description"],
            "arguments": [argument],
        }
        for skill in page["items"]
        if skill["status"] in _LIVE
    ]
    return {"prompts": found} | ({"nextCursor": agent.id} if len(profiles) > 1 else {})


async def get_mcp_prompt(asked: McpRequest) -> Mapping[str, Any]:
    """Return a skill's guidance as a message; raises RpcError."""
    name, arguments = asked.text("name"), asked.message.params.get("arguments") or {}
    named = _NAME.fullmatch(name)
    task = arguments.get("task", "") if isinstance(arguments, dict) else None
    if not named or not isinstance(task, str):
        what = "arguments.task must be a text" if named else f"there is no prompt {name[:140]!r}"
        raise RpcError(McpErrorCode.INVALID_PARAMS, what)
    try:
        skill = await asked.routes.call("GET", f"/api/agents/{named[1]}/skills/{named[2]}")
    except RouteProblem as error:
        raise RpcError(McpErrorCode.INVALID_PARAMS, str(error)) from None
    text = "\n\n".join(part for part in (skill["guidance"], task) if part.strip())
    return {
        "description": skill["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def _agents_after(asked: McpRequest, after: str) -> list[Profile]:
    agents = agents_in_sight(asked.runtime.home.agents, asked.caller.principal)
    found = sorted(agents, key=lambda each: each.agent.id)
    return [profile for profile in found if profile.agent.id > after]
