"""The owner's settings on this machine: their files, what is wrong in them, and changes to them.

Rules and texts of files belong to `domain.configuration`; `settings` puts all sources together.
"""
