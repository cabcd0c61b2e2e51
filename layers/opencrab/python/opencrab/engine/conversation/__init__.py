"""Sessions as people see them: channels, delivery, live events.

The turns that produce the answers are in `engine/turn`; connections are in `engine/websocket`.
"""
