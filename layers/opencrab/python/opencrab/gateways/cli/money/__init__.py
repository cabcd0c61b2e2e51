"""Freezing and budgets at the terminal.

What was spent is shown by `cli/usage`.
"""
