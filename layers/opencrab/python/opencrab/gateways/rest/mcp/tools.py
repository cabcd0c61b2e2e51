"""Tools of the MCP server: which there are, in `tools.json`, and what a call of one does.

Most are a route of REST. What goes wrong in a call is a result that says so, as models read it.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.domain.mcp.schema import find_mcp_argument_problem
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.gateways.language.error_texts import error_text_in, error_words_in
from opencrab.gateways.rest.mcp.asking import ask_agent, follow_task, follow_turn
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.resources import read_file_for_mcp
from opencrab.gateways.rest.mcp.route_calls import RouteProblem
from opencrab.gateways.rest.mcp.rpc import RpcError
from opencrab.gateways.rest.mcp.tool_result import ToolResult

RESULT_BYTES = 1 << 20
"""The largest result of one call."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PUBLIC = ("inputSchema", "outputSchema", "annotations")

Tool = Mapping[str, Any]

_OWN: Mapping[str, Callable[[McpRequest], Awaitable[ToolResult]]] = {
    "ask_agent": ask_agent,
    "follow_turn": follow_turn,
    "follow_task": follow_task,
    "read_file": read_file_for_mcp,
}
"""Tools that are more than one route."""


async def list_offered_mcp_tools(asked: McpRequest) -> Mapping[str, Any]:
    """List the tools that the scope of the caller's key allows."""
    offered = {name: tool for name, tool in _tools().items() if _is_allowed(asked, tool)}
    return {"tools": [_tool_view(name, tool, asked) for name, tool in offered.items()]}


async def call_mcp_tool(asked: McpRequest) -> Mapping[str, Any]:
    """Call a tool; raises RpcError if there is no such tool, or its arguments are no object."""
    name, arguments = asked.text("name"), asked.message.params.get("arguments") or {}
    tool = _tools().get(name)
    if tool is None:
        raise RpcError(McpErrorCode.INVALID_PARAMS, f"there is no tool {name[:80]!r}")
    if not isinstance(arguments, dict):
        raise RpcError(McpErrorCode.INVALID_PARAMS, "arguments must be an object")
    called = replace(asked, arguments={k: v for k, v in arguments.items() if v is not None})
    try:
        result = await _call(name, tool, called)
    except RouteProblem as error:
        return ToolResult.failed(str(error)).told()
    except OpenCrabError as error:
        words = error_words_in(asked.language, error.message, error.cure)
        return ToolResult.failed(words).told()
    told = result.told()
    size = len(json.dumps(told, ensure_ascii=False).encode())
    if size > RESULT_BYTES:
        words = f"the result has {size} bytes, at most {RESULT_BYTES} are sent: ask for less"
        return ToolResult.failed(error_text_in(asked.language, words)).told()
    return told


async def _call(name: str, tool: Tool, called: McpRequest) -> ToolResult:
    called.caller.principal.require(Scope(tool["scope"]))
    wrong = find_mcp_argument_problem(tool["inputSchema"], called.arguments)
    if wrong is None:
        wrong = _malformed_id(called.arguments)
    if wrong is not None:
        raise Invalid(wrong, cure="correct the arguments and call again")
    if "agent" in called.arguments:
        profile = await run_in_threadpool(called.agent, called.arguments["agent"])
        called = replace(called, arguments={**called.arguments, "agent_id": profile.agent.id})
    if name in _OWN:
        result = await _OWN[name](called)
        # It has waited for minutes, perhaps: whoever lost the key meanwhile hears nothing more.
        keys, key_hash = called.runtime.home.keys, called.caller.key_hash
        holder = await run_in_threadpool(conversation_connection_holder, keys, key_hash)
        holder.require(Scope(tool["scope"]))
        return result
    return ToolResult(await _call_route(tool, called))


async def _call_route(tool: Tool, called: McpRequest) -> Mapping[str, Any]:
    method, path = tool["route"].split(" ", 1)
    given = dict(called.arguments)
    given.pop("agent", None)  # its id is there, too
    in_path = {part: str(given.pop(part)) for part in re.findall(r"{(\w+)}", path)}
    found: Mapping[str, Any] = await called.routes.call(
        method,
        path.format(**in_path),
        query=given if method == "GET" else None,
        body=given if method == "POST" else None,
        key=called.idempotency_key() if method == "POST" else None,
    )
    if "keep" not in tool:
        return found
    # A model pays for every field.
    items = [{name: each.get(name) for name in tool["keep"]} for each in found["items"]]
    return {**found, "items": items}


def _malformed_id(arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong with an id among the arguments, as it becomes a part of a path."""
    for name, value in arguments.items():
        if name.endswith("_id") and not _ID.fullmatch(str(value)):
            return f"{name} is no id: use one that a tool returned"
    return None


def _is_allowed(asked: McpRequest, tool: Tool) -> bool:
    if tool["scope"] == Scope.CHAT:
        return asked.caller.may_talk
    return tool["scope"] == Scope.READ or asked.caller.is_owner


def _tool_view(name: str, tool: Tool, asked: McpRequest) -> Mapping[str, Any]:
    """Return a tool as clients are told of it, in their language."""
    title, description = (tool[part][asked.language] for part in ("title", "description"))
    shown = {part: tool[part] for part in _PUBLIC if part in tool}
    shown["annotations"] = {"title": title, **shown["annotations"]}
    return {"name": name, "title": title, "description": description, **shown}


@cache
def _tools() -> Mapping[str, Tool]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    tools: dict[str, Tool] = json.loads(text)
    return tools
