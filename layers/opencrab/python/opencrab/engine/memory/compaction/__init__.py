"""Compaction: old lines become summaries, each by a turn of its own.

The raw lines stay where they are, in the journal.
"""
