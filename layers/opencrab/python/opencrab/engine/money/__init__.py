"""Reservations and budgets: the most that a call can cost, and what is left of a day.

Rows on what it did cost are `domain/usage`.
"""
