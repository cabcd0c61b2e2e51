"""Backups: take one, restore one, check one or a data folder; they ask no server.

How a backup is made is known by `adapters/backup`.
"""
