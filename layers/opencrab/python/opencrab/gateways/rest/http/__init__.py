"""HTTP itself: who calls, bodies, pages, problems, idempotency, event streams, OpenAPI.

It knows no route: those lie in the rooms of their capabilities, and `app` puts them together.
"""
