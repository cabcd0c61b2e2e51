"""The pages of SQLite files, from which removed rows are erased without writing the file anew.

What is stored in a file, and which rows are removed, is told by `adapters/sqlite`.
"""
