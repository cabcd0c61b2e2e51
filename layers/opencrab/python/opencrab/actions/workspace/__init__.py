"""Actions on workspace files: reading, writing, and provenance.

Notes with links are in `actions/vault`.
"""
