"""Routes for what was used.

Limits are `rest/money`.
"""
