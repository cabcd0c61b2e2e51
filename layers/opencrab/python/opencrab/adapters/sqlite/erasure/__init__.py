"""What an erasure asks of one SQLite file beside writing to it.

How rows are overwritten or removed is told by `adapters/sqlite/eraser.py`.
"""
