"""Actions on the vault: creating, changing, finding and renaming linked notes.

The values for notes and links are in `domain/vault`.
"""
