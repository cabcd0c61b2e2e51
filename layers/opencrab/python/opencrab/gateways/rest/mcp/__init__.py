"""Routes for MCP servers and the trust in their tools.

Servers themselves are settings, which no route changes.
"""
