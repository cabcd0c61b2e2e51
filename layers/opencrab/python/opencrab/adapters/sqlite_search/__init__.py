"""Search in SQLite: each agent's index is one file of full-text search, private to its process.

Which rows there are to find is told by `adapters/search_rows`.
"""
