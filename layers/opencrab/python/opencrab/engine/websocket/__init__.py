"""WebSocket connections: tickets, what each one watches, and their limits.

What a connection is told is in `engine/conversation`; the protocol is in `gateways/websocket`.
"""
