"""Ports for workspace files and for what they take up.

What a path may be is `domain/workspace`.
"""
