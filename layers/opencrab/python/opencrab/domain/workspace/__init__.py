"""Paths of an agent's files.

Notes and their links are in `domain/vault`; files themselves are behind a port, `ports/workspace`.
"""
