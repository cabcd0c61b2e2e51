"""The terminal: commands for people and scripts, speaking to OpenCrab over its REST interface.

It knows no engine and no store: whatever it shows came from a server.
"""
