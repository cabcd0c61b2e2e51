"""Agents at the terminal: made, shown, changed, seeded.

Everything is asked of the server over REST.
"""
