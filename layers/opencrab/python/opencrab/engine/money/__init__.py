"""Reservations and budgets: the upper bound of a call's cost, and what is left of a day.

Rows with the real cost are in `domain/usage`.
"""
