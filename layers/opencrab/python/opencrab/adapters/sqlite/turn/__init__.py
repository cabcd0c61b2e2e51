"""Turns on SQLite: rows of headers, records and lines, and messages that workers hold.

Nothing is imported here: whoever needs a module names it.
"""
