"""Search in SQLite: each agent's index is one file of full-text search, private to its process."""
