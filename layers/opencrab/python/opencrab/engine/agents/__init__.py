"""Agents: creation, settings, presets, and events for them.

Heartbeats and unasked turns are in `engine/autonomy`.
"""
