"""When a human must agree first, and what was asked and granted.

Who may decide is derived in `domain/access`.
"""
