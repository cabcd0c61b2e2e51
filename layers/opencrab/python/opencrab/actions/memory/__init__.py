"""Actions on memory: search, memories, beliefs, and reading the past.

Compaction is in `engine/memory`, erasure in `engine/erasure`.
"""
