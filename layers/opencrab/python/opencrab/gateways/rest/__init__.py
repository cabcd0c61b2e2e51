"""REST under /api: routes, keys and problem documents over the engine.

What a request does is the engine's; nothing here decides about agents.
"""
