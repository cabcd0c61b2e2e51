"""Transactions on SQLite: the items in one, who is woken by it, what a worker holds between two.

Nothing is imported here: whoever needs a module names it.
"""
