"""API keys and idempotency keys as items of the table.

Who may do what with them is `domain/access`.
"""
