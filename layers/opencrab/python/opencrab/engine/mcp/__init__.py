"""Trust in the tools of MCP servers, as the owner gives and withdraws it.

The calls of trusted tools are actions: see `actions/mcp.py`.
"""
