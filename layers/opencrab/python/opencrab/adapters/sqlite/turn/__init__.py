"""Turns on SQLite: rows of headers, records and lines.

Nothing is imported here: whoever needs a module names it.
"""
