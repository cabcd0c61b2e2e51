"""Ports for search and for snapshots of indexes.

Memories themselves are documents, `ports/documents`.
"""
