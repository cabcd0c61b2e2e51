"""Preferences and the health of providers as items of the table.

What they mean for routing is `domain/models`.
"""
