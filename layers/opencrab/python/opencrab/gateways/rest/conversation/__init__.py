"""Routes for sessions, messages, lines, turns and live events.

What is said there is decided by `engine/turn`.
"""
