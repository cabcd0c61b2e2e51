"""Paths, notes, links and templates of an agent's files.

Files themselves are behind a port, `ports/workspace`.
"""
