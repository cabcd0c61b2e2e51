"""HTTP itself: the app, who calls, bodies, pages, problems, idempotency, OpenAPI.

Routes lie in the folders of their capabilities.
"""
