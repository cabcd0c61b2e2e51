"""Requests of programs with keys: what they ask over MCP, A2A and OpenAI's API."""

import random
from typing import Any

from opencrab.domain.turn.turn import Turn
from tests.hostile.world import AGENTS

WAYS = ("mcp", "a2a", "a2a stream", "responses", "responses stream", "completions")
TOOL = "client__look_out"
SCHEMA = {"type": "object", "properties": {"where": {"type": "string"}}}
NOBODYS = "0" * 26
"""An id that nothing has."""

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "潮", "version": "1"},
}
_FUNCTION = {"name": "look_out", "parameters": SCHEMA}

Request = tuple[str, dict[str, str], Any]
"""A path, headers and a body."""


def question(
    dice: random.Random, way: str, said: str, *, key: str | None, session: str | None,
    after: Turn | None,
) -> Request:  # fmt: skip
    """A question by one of the ways; `key` is its id, `after` the turn of a response before it."""
    agent = dice.choice(tuple(AGENTS))
    headers = {} if key is None else {"idempotency-key": key}
    if way == "mcp":
        given = {"agent": agent, "message": said}
        given |= {} if session is None else {"session_id": session}
        return "/mcp", headers, {**tool("ask_agent", **given), "id": said}
    if way.startswith("a2a"):
        message = {"role": "ROLE_USER", "messageId": key, "parts": [{"text": said}]}
        message |= {} if session is None else {"contextId": session}
        method = "SendStreamingMessage" if "stream" in way else "SendMessage"
        return f"/a2a/{agent}", {}, rpc(method, {"message": message})
    body: dict[str, Any] = {"model": agent, "stream": "stream" in way}
    if way == "completions":
        body |= {"tools": [{"type": "function", "function": _FUNCTION}], "messages": [user(said)]}
        return "/v1/chat/completions", headers, body
    if after is not None:
        body |= {"previous_response_id": f"resp_{after.id}", "model": after.agent_id}
    body |= {"tools": [{"type": "function", **_FUNCTION}], "input": said}
    return "/v1/responses", headers, body


def looking(dice: random.Random, kind: str, wanted: str, agent: str) -> tuple[str, str, Any]:
    """Method, path and body of a request for one thing, or for a list that may hold it."""
    a2a, seen = f"/a2a/{agent}", {"id": wanted}
    if kind == "response":
        return "GET", f"/v1/responses/resp_{wanted}", None
    lists = (
        ("POST", "/mcp", tool("list_sessions")),
        ("POST", "/mcp", tool("list_approvals")),
        ("POST", "/mcp", rpc("resources/list", {})),
        ("POST", "/mcp", tool("search_memory", agent=agent, query="today 蟹")),
        ("POST", a2a, rpc("ListTasks", {})),
    )
    things = {
        "session": ("POST", "/mcp", tool("read_session", session_id=wanted)),
        "resource": (
            "POST",
            "/mcp",
            rpc("resources/read", {"uri": f"opencrab://sessions/{wanted}"}),
        ),
        "follow": ("POST", "/mcp", tool("follow_turn", turn_id=wanted, wait_seconds=0)),
        "approval": ("POST", "/mcp", tool("get_approval", approval_id=wanted)),
        "task": ("POST", a2a, rpc("GetTask", seen)),
        "subscribe": ("POST", a2a, rpc("SubscribeToTask", seen)),
    }
    return things.get(kind) or dice.choice(lists)


def rpc(method: str, params: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": method, "method": method, "params": params}


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A call of a tool of MCP."""
    return rpc("tools/call", {"name": name, "arguments": given})


def user(said: str) -> dict[str, Any]:
    """A message of a conversation."""
    return {"role": "user", "content": said}
