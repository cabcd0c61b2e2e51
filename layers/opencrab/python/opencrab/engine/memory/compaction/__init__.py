"""Compaction: old lines become summaries, each written by a turn of its own.

The original lines stay in the journal.
"""
