"""The vault: notes, their links and templates.

The paths of an agent's files are in `domain/workspace`.
"""
