"""Transactions on SQLite: who is woken by one, and what a worker holds between two of them.

Nothing is imported here: whoever needs a module names it.
"""
