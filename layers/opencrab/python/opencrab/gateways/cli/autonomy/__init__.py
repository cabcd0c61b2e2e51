"""Heartbeats and schedules at the terminal.

Everything is asked of the server over REST.
"""
