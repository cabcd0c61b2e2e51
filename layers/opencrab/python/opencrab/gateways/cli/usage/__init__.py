"""What was used and what it cost, at the terminal.

Limits are set by `cli/models` and `cli/money`.
"""
