"""The local home: one crash-safe SQLite file with stores, journal, queues, outbox and feed."""
