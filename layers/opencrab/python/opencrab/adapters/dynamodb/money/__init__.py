"""Budgets and the board of switches as items of the table.

Rows of the usage ledger are in `dynamodb/usage`.
"""
