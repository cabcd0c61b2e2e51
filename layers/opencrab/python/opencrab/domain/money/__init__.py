"""Prices, reservations, allowances and budgets, in integer micro-dollars.

What was used is `domain/usage`.
"""
