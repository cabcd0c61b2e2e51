"""JSON-RPC messages of MCP: what we send, and what of a server's messages is understood.

Nothing that a server says gets into an error: error texts do not count as words from outside.
"""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from opencrab import __version__
from opencrab.domain.mcp.protocol import PROTOCOL, McpErrorCode
from opencrab.domain.value import JSON_DEPTH
from opencrab.ports.mcp import McpUnavailable

_CODES = 1_000_000
_REFUSED = {
    "sampling/createMessage": "this client runs no model for a server",
    "elicitation/create": "this client asks nobody for a server",
    "roots/list": "this client shows no folders",
}

_HALVES = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")

Message = Mapping[str, Any]


def mcp_handshake() -> dict[str, Any]:
    """Return the parameters of `initialize`: no capability, so that servers ask us for nothing."""
    return {
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "opencrab", "version": __version__},
    }


def mcp_message(method: str, params: Mapping[str, Any], number: int | None = None) -> bytes:
    """Return a request, or without a number a notification, as JSON on one line."""
    numbered = {} if number is None else {"id": number}
    said = {"jsonrpc": "2.0", **numbered, "method": method, "params": dict(params)}
    return json.dumps(said, ensure_ascii=False).encode()


def params_with_progress(params: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the parameters of a request that asks for its progress, by its own number."""
    return {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}


def mcp_cancellation(number: int, reason: str) -> bytes:
    """Return the notification that nobody waits for a request any more."""
    return mcp_message("notifications/cancelled", {"requestId": number, "reason": reason})


def is_progress_of_mcp_call(message: Message, number: int) -> bool:
    """Check whether a notification tells the progress of the request with this number."""
    params = message.get("params")
    if message.get("method") != "notifications/progress" or not isinstance(params, dict):
        return False
    token = params.get("progressToken")
    return isinstance(token, int) and not isinstance(token, bool) and token == number


def parse_mcp_message(text: bytes | str) -> Message | None:
    """Return a server's message; None for what is none. One nested too deeply keeps only its id.

    It can be stored and sent on: what is no UTF-8 is replaced, and a number that is none is null.
    """
    said = text if isinstance(text, str) else text.decode("utf-8-sig", "replace")
    try:
        found = json.loads(said, parse_constant=lambda _: None, parse_float=_finite_number)
        if _ESCAPED_HALF.search(said):
            # Half of a pair has no UTF-8, and whoever encodes it fails.
            found = json.loads(_HALVES.sub("\ufffd", json.dumps(found, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return found if _depth(found) <= JSON_DEPTH else {"id": found.get("id")}


def answer_to_mcp_server(message: Message) -> bytes | None:
    """Return the answer to a request of a server: pings are answered, all else is refused.

    None for what is no request.
    """
    method, number = message.get("method"), message.get("id")
    if not isinstance(method, str) or not isinstance(number, str | int):
        return None
    if method == "ping":
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode()
    why = _REFUSED.get(method, "this client has no such method")
    error = {"code": McpErrorCode.METHOD_NOT_FOUND, "message": why}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()


def result_of_mcp_answer(message: Message, server: str, method: str) -> dict[str, Any]:
    """Return the result of a request; raises McpUnavailable for an error of the protocol."""
    result = message.get("result")
    if isinstance(result, dict):
        return result
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    told = (
        f"error {code}"
        if isinstance(code, int) and abs(code) < _CODES
        else "neither a result nor an error"
    )
    raise McpUnavailable(
        f"the MCP server {server} answered {method} with {told}",
        cure="change the arguments, or continue without it",
        sent=True,
    )


def _finite_number(text: str) -> float | None:
    number = float(text)
    return number if isfinite(number) else None


def _depth(value: Any) -> int:
    """Return how deeply a value is nested, without recursion."""
    deepest, left = 0, [(value, 1)]
    while left:
        each, depth = left.pop()
        deepest = max(deepest, depth)
        if depth > JSON_DEPTH:
            return depth
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        left += [(one, depth + 1) for one in inner]
    return deepest
