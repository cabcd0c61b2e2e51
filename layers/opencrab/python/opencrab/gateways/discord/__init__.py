"""Discord: how its interactions and messages become turns, decisions and answers.

Discord's API is called by `adapters/discord` alone.
"""
