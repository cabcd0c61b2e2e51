"""The local home: one crash-safe SQLite file with stores, journal, queues, outbox and feed.

Files lie beside it, by `adapters/local_files`; the search has files of its own.
"""
