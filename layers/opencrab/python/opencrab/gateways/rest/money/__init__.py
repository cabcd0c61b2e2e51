"""Routes for budgets.

What was spent is `rest/usage` and `rest/insight`.
"""
