"""What calls of models used: ledger rows, counters of a day, what AWS asks for it.

Limits on it are `domain/money`.
"""
