"""Talking at the terminal: chat, sessions and their turns.

Everything is asked of the server over REST.
"""
