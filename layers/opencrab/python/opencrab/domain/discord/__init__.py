"""Discord's people and places: who is who there, where an agent may speak, where answers go.

Nothing here speaks to Discord; that is `adapters/discord`.
"""
