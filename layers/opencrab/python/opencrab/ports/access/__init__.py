"""Ports for API keys, secrets and idempotency.

Nothing here says who may use them.
"""
