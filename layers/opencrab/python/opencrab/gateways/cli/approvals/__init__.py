"""Approvals and grants at the terminal.

Everything is asked of the server over REST.
"""
