"""Routes for heartbeats, schedules and events.

What they do is `engine/autonomy`.
"""
