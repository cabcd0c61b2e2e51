"""Commands about the tools of MCP servers.

Those that write servers to the settings files are in `configuration`.
"""
