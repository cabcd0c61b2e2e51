"""Routes for API keys.

Who a caller is, is found in `rest/http`.
"""
