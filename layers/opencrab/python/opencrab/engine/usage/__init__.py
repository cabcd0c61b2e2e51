"""The usage ledger's row of a model call.

Limits and reservations are `engine/money`.
"""
