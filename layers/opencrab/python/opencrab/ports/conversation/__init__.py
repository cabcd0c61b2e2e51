"""Ports for sessions, the change feed, channels, the outbox and pushing.

The journal, which writes lines, is in `ports/turn`.
"""
