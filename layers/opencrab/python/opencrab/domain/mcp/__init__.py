"""MCP: servers of others, whose tools agents use as actions once their owner trusts them.

What speaks with servers is in `adapters/mcp`.
"""
