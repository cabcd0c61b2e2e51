"""API keys: creation, lookup by hash, and revocation.

The permissions of a key are in `domain/access`.
"""
