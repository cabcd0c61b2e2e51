"""Turns on SQLite: rows of headers, records and lines, and the ledger of their model calls.

Nothing is imported here: whoever needs a module names it.
"""
