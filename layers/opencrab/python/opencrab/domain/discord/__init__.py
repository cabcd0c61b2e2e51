"""Discord's people and places, and the guard against bots that answer each other.

Nothing here speaks to Discord; that is `adapters/discord`.
"""
