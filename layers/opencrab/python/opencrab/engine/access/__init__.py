"""API keys: made, known again by their hash, revoked.

Who may do what with one is `domain/access`.
"""
