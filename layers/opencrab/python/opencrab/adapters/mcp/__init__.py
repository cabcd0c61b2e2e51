"""MCP servers over JSON-RPC: processes of this computer, and addresses (Streamable HTTP).

Which tools are trusted and what a call may do is decided elsewhere: see `engine/mcp`.
"""

from opencrab.adapters.mcp.connections import McpConnections

__all__ = ["McpConnections"]
