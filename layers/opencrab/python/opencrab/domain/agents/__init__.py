"""An agent as a value: identity, soul, heartbeat, state and events.

What it remembers, wants and learns has rooms of its own.
"""
