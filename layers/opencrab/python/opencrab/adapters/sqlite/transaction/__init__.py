"""Transactions on SQLite: the items in one, its commit, and who is woken by it.

Nothing is imported here: whoever needs a module names it.
"""
