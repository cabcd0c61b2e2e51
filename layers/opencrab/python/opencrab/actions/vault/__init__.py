"""The vault as actions: notes with links between them, made, changed, found and renamed.

Notes and links as values are in `domain/workspace`.
"""
