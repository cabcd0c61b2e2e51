"""The usage ledger and a day's counters as items of the table.

Budgets, which money is taken from, are in `dynamodb/money`.
"""
