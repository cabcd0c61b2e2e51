"""MCP servers of the settings: which there are, and how a running process takes their changes.

What speaks with them is in `adapters/mcp`, trust in their tools in `engine/mcp`.
"""
