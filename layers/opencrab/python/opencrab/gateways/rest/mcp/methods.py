"""The methods of MCP that this server has, and the notifications that it heeds."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from opencrab import __version__
from opencrab.domain.mcp.protocol import PROTOCOL, PROTOCOLS, McpErrorCode
from opencrab.gateways.rest.mcp.asking import cancel_mcp_request
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.prompts import get_mcp_prompt, list_mcp_prompts
from opencrab.gateways.rest.mcp.resources import (
    list_mcp_resource_templates,
    list_mcp_resources,
    read_mcp_resource,
)
from opencrab.gateways.rest.mcp.rpc import RpcError, is_rpc_id
from opencrab.gateways.rest.mcp.tools import call_mcp_tool, list_offered_mcp_tools
from opencrab.ports.texts import Texts

_TEXTS = Texts(__file__)

Result = Mapping[str, Any]


async def answer_mcp_method(asked: McpRequest) -> Result:
    """Return the result of a request; raises RpcError."""
    answer = _METHODS.get(asked.message.method)
    if answer is None:
        raise RpcError(
            McpErrorCode.METHOD_NOT_FOUND, f"there is no method {asked.message.method[:80]!r}"
        )
    return await answer(asked)


async def heed_mcp_notification(asked: McpRequest) -> None:
    """Do what a notification asks for; those that ask for nothing are ignored."""
    number = asked.message.params.get("requestId")
    is_cancelled = asked.message.method == "notifications/cancelled"
    if is_cancelled and isinstance(number, str | int) and is_rpc_id(number):
        await cancel_mcp_request(asked, number)


async def _initialize(asked: McpRequest) -> Result:
    wanted = asked.text("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in PROTOCOLS else PROTOCOL,
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "opencrab", "title": "OpenCrab", "version": __version__},
        "instructions": _TEXTS["instructions"][asked.language],
    }


async def _ping(_asked: McpRequest) -> Result:
    return {}


_METHODS: Mapping[str, Callable[[McpRequest], Awaitable[Result]]] = {
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": list_offered_mcp_tools,
    "tools/call": call_mcp_tool,
    "resources/list": list_mcp_resources,
    "resources/templates/list": list_mcp_resource_templates,
    "resources/read": read_mcp_resource,
    "prompts/list": list_mcp_prompts,
    "prompts/get": get_mcp_prompt,
}
