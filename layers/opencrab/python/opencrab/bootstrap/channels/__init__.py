"""The door for signed requests, put together, and what handles what the interactions queue has.

Discord's own door lies in `bootstrap/discord`.
"""
