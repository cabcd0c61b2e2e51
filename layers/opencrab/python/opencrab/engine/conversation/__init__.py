"""Sessions as people see them: channels, delivery, live events, connections.

The turns that produce the answers are in `engine/turn`.
"""
