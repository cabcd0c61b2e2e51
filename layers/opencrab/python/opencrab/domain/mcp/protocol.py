"""Revisions of MCP and its error codes, the same for what we ask and for what we answer."""

from enum import IntEnum

PROTOCOL = "2025-11-25"
"""The newest revision with a handshake; whoever speaks an older one answers with theirs."""

PROTOCOLS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL})


class McpErrorCode(IntEnum):
    """Codes of JSON-RPC 2.0, and what MCP adds to them."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    RESOURCE_NOT_FOUND = -32002
