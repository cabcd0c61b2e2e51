"""Workspace files as actions: reading, writing, and whose words a file holds.

Notes with links have their own room, `actions/vault`.
"""
