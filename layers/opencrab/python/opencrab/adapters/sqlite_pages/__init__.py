"""The pages of SQLite files: clears removed rows from them without writing the file anew."""
