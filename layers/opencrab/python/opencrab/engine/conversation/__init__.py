"""What people see of a session: channels, delivery, live events, connections.

How an answer comes about is `engine/turn`.
"""
