"""Routes for workspace files.

What a path may be is `domain/workspace`.
"""
