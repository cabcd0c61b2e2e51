"""Backups of a data folder: a copy of the database, files with their hashes, and a manifest.

What the database file and the workspace folders look like is known by `adapters/sqlite` and
`adapters/local_files`.
"""
