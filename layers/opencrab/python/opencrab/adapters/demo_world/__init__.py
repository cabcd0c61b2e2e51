"""The demo world on this computer: its own small store, and its side of a WebSocket.

Its rules are in `domain/world/demo`; no file of OpenCrab itself is read here.
"""
